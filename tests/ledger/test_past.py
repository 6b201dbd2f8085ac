"""The join of the two factors, against a reading of the releases person by person."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from ledger.builders import FIRST, SECOND, Person, new_series, publish
from serigraph.errors import InputRefused
from serigraph.ledger import PRESENCE_KNOWN, PRESENCE_UNKNOWN, PastExposure, past
from serigraph.ledger.parts import CodedValues, read_members, read_values
from serigraph.model import Past
from serigraph.model import past as model_past

VALUES = ("HIV", "flu", "gout", "lupus", "rare")


def random_release(rng: random.Random, *, text: bool) -> tuple[Person, ...]:
    people = rng.sample(range(-20, 60), 40)
    groups = rng.randint(1, 9)
    return tuple(
        Person(
            id=f"P{number}" if text else number,
            group=place % groups,
            present=(present := place < groups or rng.random() < 0.7),
            values=tuple(value for value in VALUES if present and rng.random() < 0.12),
        )
        for place, number in enumerate(people)
    )


def naive_exposures(
    release: tuple[Person, ...], adversary: str, id: str | int
) -> dict[str, tuple[int, int]]:
    """What the group of one person held: value -> (count, size)."""
    group = [person.group for person in release if person.id == id]
    mates = [person for person in release if group and person.group == group[0]]
    if adversary == PRESENCE_KNOWN:
        mates = [person for person in mates if person.present]
    counts = {value: sum(value in mate.values for mate in mates) for value in VALUES}
    return {value: (count, len(mates)) for value, count in counts.items() if count}


def read_history(
    history: Past, release: int, place: int, protected: tuple[str, ...]
) -> dict[str, tuple[int, int]]:
    group, held = history.group[place, release], history.held
    if group < 0:
        return {}
    exposures = held.exposure[held.start[group] : held.start[group + 1]]
    assert len(exposures)
    assert np.all(np.diff(held.value[exposures]) > 0)
    return {
        protected[held.value[each]]: (int(held.count[each]), int(held.size[each]))
        for each in exposures
    }


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_history_and_exposures_equal_a_plain_reading(tmp_path: Path, seed: int, text: bool) -> None:
    rng = random.Random(seed)
    series = new_series(tmp_path)
    out = []
    for number in range(4):
        release = random_release(rng, text=text)
        adversary = rng.choice([PRESENCE_KNOWN, PRESENCE_UNKNOWN])
        publish(series, f"r{number}", release, adversary=adversary)
        out.append((release, adversary))
    asked = [f"P{n}" if text else n for n in rng.sample(range(-20, 70), 80)]
    protected = (*sorted(rng.sample(VALUES, 3)), "nobody has it")
    history = series.history(pl.Series(asked), protected)
    assert history.group.shape == (80, 4)
    assert history.group.max() < history.held.groups
    for place, id in enumerate(asked):
        for number, (release, adversary) in enumerate(out):
            naive = naive_exposures(release, adversary, id)
            assert read_history(history, number, place, protected) == {
                value: exposure for value, exposure in naive.items() if value in protected
            }
    known = {person.id for release, _ in out for person in release}
    for id in rng.sample(sorted(known), 5):
        for value in VALUES:
            assert [(e.release - 1, e.count, e.size) for e in series.exposures(id, value)] == [
                (number, *naive[value])
                for number, (release, adversary) in enumerate(out)
                if value in (naive := naive_exposures(release, adversary, id))
            ]


def same(one: Past, other: Past) -> bool:
    """Whether two pasts are the same, array for array."""
    return np.array_equal(one.group, other.group) and all(
        np.array_equal(getattr(one.held, name), getattr(other.held, name))
        for name in ("start", "exposure", "value", "count", "size")
    )


@pytest.mark.parametrize("protected", [VALUES, VALUES[::-1], VALUES[1::2]])
def test_pieces_and_their_order_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protected: tuple[str, ...]
) -> None:
    rng = random.Random(5)
    series = new_series(tmp_path)
    for number in range(3):
        publish(series, f"r{number}", random_release(rng, text=False))
    ids = pl.Series(range(-20, 60))
    whole = series.history(ids, protected)
    assert len(whole.held.value) > 1

    def in_pieces(files: Sequence[bytes]) -> Iterator[CodedValues]:
        for all_of_it in read_values(files):
            for entry in range(len(all_of_it.group)):
                here = slice(entry, entry + 1)
                name = all_of_it.names[int(all_of_it.code[entry])]
                yield CodedValues(
                    all_of_it.group[here],
                    all_of_it.count[here],
                    np.ones(1, dtype=np.int32),
                    ["a name of its own", name],
                )

    def in_disorder(files: Sequence[bytes]) -> Iterator[CodedValues]:
        for each in read_values(files):
            order = np.array(rng.sample(range(len(each.group)), len(each.group)))
            yield CodedValues(each.group[order], each.count[order], each.code[order], each.names)

    def members_in_disorder(files: Sequence[bytes]) -> Iterator[tuple[NDArray, NDArray]]:
        for person, group in read_members(files):
            order = np.array(rng.sample(range(len(person)), len(person)))
            for entry in order.tolist():
                yield person[[entry]], group[[entry]]

    for read in (in_pieces, in_disorder):
        monkeypatch.setattr(past, "read_values", read)
        assert same(series.history(ids, protected), whole)
    monkeypatch.setattr(past, "read_members", members_in_disorder)
    assert same(series.history(ids, protected), whole)


def test_who_is_asked_for_and_in_which_order_changes_nothing_else(tmp_path: Path) -> None:
    rng = random.Random(11)
    series = new_series(tmp_path)
    for number in range(3):
        publish(series, f"r{number}", random_release(rng, text=False))
    everybody = list(range(-20, 60))
    whole = series.history(pl.Series(everybody), VALUES)
    asked = rng.sample(everybody, 30)
    rows = [everybody.index(id) for id in asked]
    assert same(series.history(pl.Series(asked), VALUES), whole.subset(np.array(rows)))


def test_releases_before_anybody_that_is_asked_for_have_nobody(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", [Person(1, 0, ("flu",)), Person(2, 0)])
    publish(series, "b", [Person(3, 0, ("flu",)), Person(4, 0), Person(5, 1)])
    publish(series, "c", [Person(1, 0, ("HIV",)), Person(4, 0)])
    history = series.history(pl.Series([3, 4, 5, 6]), ["HIV", "flu"])
    assert history.group.tolist() == [[-1, 0, -1], [-1, 0, 1], [-1, -1, -1], [-1, -1, -1]]
    assert read_history(history, 1, 1, ("HIV", "flu")) == {"flu": (1, 2)}
    assert read_history(history, 2, 1, ("HIV", "flu")) == {"HIV": (1, 2)}


@pytest.mark.parametrize("narrow", [2**16, 12, 3])  # exposures that the narrow type can number
def test_the_width_of_numbers_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, narrow: int
) -> None:
    monkeypatch.setattr(model_past, "_NARROW", narrow)
    rng = random.Random(3)
    series = new_series(tmp_path)
    releases = [random_release(rng, text=False) for _ in range(3)]
    for number, release in enumerate(releases):
        publish(series, f"r{number}", release)
    ids = list(range(-20, 70))
    history = series.history(pl.Series(ids), VALUES)
    assert len(history.held.value) > 12
    assert history.held.exposure.dtype == (np.uint16 if narrow == 2**16 else np.int32)
    for row, id in enumerate(ids):
        for number, release in enumerate(releases):
            naive = naive_exposures(release, PRESENCE_UNKNOWN, id)
            assert read_history(history, number, row, VALUES) == naive


@pytest.mark.parametrize(("values", "kind"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_exposures_beyond_a_narrow_number(tmp_path: Path, values: int, kind: type) -> None:
    """One group that holds everything, once."""
    names = [f"{number:05}" for number in range(values)]
    series = new_series(tmp_path)
    publish(series, "a", (Person(id=1, group=0, values=tuple(names)), Person(id=2, group=0)))
    held = series.history(pl.Series([2]), names).held
    assert held.exposure.dtype == kind
    assert held.start.tolist() == [0, values]
    assert np.array_equal(held.value[held.exposure], np.arange(values))
    assert (held.size == 2).all()
    assert (held.count == 1).all()


def test_dtypes_are_those_that_kernels_read(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    found = series.history(pl.Series(["ann", "nobody"]), ["HIV", "flu"])
    none = Past.none(2)
    assert found.group.dtype == none.group.dtype == np.int32
    for name in ("start", "exposure", "value", "count", "size"):
        assert getattr(found.held, name).dtype == getattr(none.held, name).dtype, name
    assert found.group.flags.c_contiguous
    assert found.group.tolist() == [[0], [-1]]


def test_before_the_first_release_there_is_no_history(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    history = series.history(pl.Series(["ann"]), ["flu"])
    assert history.group.shape == (1, 0)
    assert history.held.groups == 0


def test_nothing_asked_gives_empty_arrays(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    nobody = series.history(pl.Series([], dtype=pl.String), ["flu"])
    assert nobody.group.shape == (0, 1)
    no_value = series.history(pl.Series(["ann", "bob"]), [])
    assert no_value.group.tolist() == [[-1], [-1]]
    assert no_value.held.groups == 0


def test_a_release_that_held_nothing_of_what_is_asked_for(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", [Person(1, 0), Person(2, 0)])
    publish(series, "b", [Person(1, 0, ("gout",)), Person(2, 0)])
    publish(series, "c", [Person(1, 0, ("flu",)), Person(2, 0)])
    history = series.history(pl.Series([1, 2]), ["flu"])
    assert history.group.tolist() == [[-1, -1, 0], [-1, -1, 0]]
    assert read_history(history, 2, 1, ("flu",)) == {"flu": (1, 2)}


def test_exposures_say_where_they_come_from(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    publish(series, "b", SECOND, adversary=PRESENCE_KNOWN)
    assert series.exposures("cat", "HIV") == (
        PastExposure(release=1, label="a", size=2, count=1, present=True),
        PastExposure(release=2, label="b", size=2, count=2, present=False),
    )
    assert series.exposures("cat", "HIV")[0].exposure.survival == 0.5
    assert series.exposures("cat", "gout") == ()


@pytest.mark.parametrize("person", ["nobody", "12x", 99, str(2**70)])
@pytest.mark.parametrize("text", [True, False])
def test_an_unknown_person_is_not_a_clean_record(
    tmp_path: Path, person: str | int, text: bool
) -> None:
    series = new_series(tmp_path)
    with pytest.raises(InputRefused):
        series.exposures(person, "flu")
    publish(series, "a", [Person("x" if text else 1, 0, ("flu",))])
    with pytest.raises(InputRefused, match="has no person") as refused:
        series.exposures(person, "flu")
    assert str(person) not in str(refused.value)
