"""The join of the two factors, against a reading of the releases person by person."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

from ledger.builders import FIRST, SECOND, Person, new_series, publish
from serigraph.errors import InputRefused
from serigraph.ledger import (
    PRESENCE_KNOWN,
    PRESENCE_UNKNOWN,
    PastExposure,
    kernels,
    loops,
    recall,
)
from serigraph.ledger.parts import CodedValues, read_values
from serigraph.model import Past

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
    group = history.groups[place, release]
    if group < 0:
        return {}
    lengths, held = history.held(history.groups[place, [release]])
    assert lengths.tolist() == [len(held)] == [history.lists[group]]
    assert np.all(np.diff(history.value[held]) > 0)
    return {
        protected[history.value[each]]: (int(history.count[each]), int(history.size[each]))
        for each in held
    }


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_history_and_exposures_equal_a_plain_reading(tmp_path: Path, seed: int, text: bool) -> None:
    rng = random.Random(seed)
    series = new_series(tmp_path)
    past = []
    for number in range(4):
        release = random_release(rng, text=text)
        adversary = rng.choice([PRESENCE_KNOWN, PRESENCE_UNKNOWN])
        publish(series, f"r{number}", release, adversary=adversary)
        past.append((release, adversary))
    asked = [f"P{n}" if text else n for n in rng.sample(range(-20, 70), 80)]
    protected = (*sorted(rng.sample(VALUES, 3)), "nobody has it")
    history = series.history(pl.Series(asked), protected)
    assert history.groups.shape == (80, 4)
    assert len(history.value) == len(history.count) == len(history.size)
    for place, id in enumerate(asked):
        for number, (release, adversary) in enumerate(past):
            naive = naive_exposures(release, adversary, id)
            assert read_history(history, number, place, protected) == {
                value: exposure for value, exposure in naive.items() if value in protected
            }
    known = {person.id for release, _ in past for person in release}
    for id in rng.sample(sorted(known), 5):
        for value in VALUES:
            assert [(e.release - 1, e.count, e.size) for e in series.exposures(id, value)] == [
                (number, *naive[value])
                for number, (release, adversary) in enumerate(past)
                if value in (naive := naive_exposures(release, adversary, id))
            ]


@pytest.mark.parametrize("protected", [VALUES, VALUES[::-1], VALUES[1::2]])
def test_pieces_and_compiled_loops_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protected: tuple[str, ...]
) -> None:
    rng = random.Random(5)
    series = new_series(tmp_path)
    for number in range(3):
        publish(series, f"r{number}", random_release(rng, text=False))
    ids = pl.Series(range(-20, 60))
    whole = series.history(ids, protected)
    assert len(whole.value) > 1
    assert loops.fastest() is kernels  # Numba was started

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

    for read, loop in product((read_values, in_pieces, in_disorder), (loops, kernels)):
        monkeypatch.setattr(recall, "read_values", read)
        monkeypatch.setattr(recall, "fastest", partial(lambda module: module, loop))
        other = series.history(ids, protected)
        for name in ("groups", "lists", "value", "count", "size"):
            assert np.array_equal(getattr(other, name), getattr(whole, name)), name


def pairs_and_threes(rng: random.Random) -> tuple[Person, ...]:
    """Many groups of few kinds: exposures are looked up, and not ranked."""
    return tuple(
        Person(id=number, group=number % 70, values=tuple(rng.sample(VALUES, rng.randint(1, 3))))
        for number in range(160)
    )


@pytest.mark.parametrize("loop", [kernels, loops])
@pytest.mark.parametrize("place", [np.int32, np.int64])
@pytest.mark.parametrize("table", [2**22, 0])  # keys that are always looked up, and never ranked
@pytest.mark.parametrize("narrow", [2**16, 12, 3])  # exposures that the narrow type tells apart
def test_the_width_of_numbers_changes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    narrow: int,
    table: int,
    place: type[np.signedinteger],
    loop: ModuleType,
) -> None:
    monkeypatch.setattr(recall, "fastest", lambda: loop)
    monkeypatch.setattr(recall, "_TABLE", table)
    monkeypatch.setattr(recall, "kind_of_places", lambda _entries: place)
    monkeypatch.setattr(
        recall,
        "kind_of_numbers",
        lambda exposures: np.uint16 if exposures <= narrow else np.int32,
    )
    rng = random.Random(3)
    series = new_series(tmp_path)
    past = (random_release(rng, text=False), pairs_and_threes(rng), random_release(rng, text=False))
    for number, release in enumerate(past):
        publish(series, f"r{number}", release)
    ids = list(range(-20, 170))
    history = series.history(pl.Series(ids), VALUES)
    assert len(history.value) > 12
    assert history.lists.dtype == (np.uint16 if narrow == 2**16 else np.int32)
    assert history.groups.dtype == place
    for row, id in enumerate(ids):
        for number, release in enumerate(past):
            naive = naive_exposures(release, PRESENCE_UNKNOWN, id)
            assert read_history(history, number, row, VALUES) == naive


@pytest.mark.parametrize("loop", [kernels, loops])
@pytest.mark.parametrize("values", [2**16 - 1, 2**16])
def test_exposures_beyond_a_narrow_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: int, loop: ModuleType
) -> None:
    """One group that holds everything, once."""
    monkeypatch.setattr(recall, "fastest", lambda: loop)
    names = [f"{number:05}" for number in range(values)]
    series = new_series(tmp_path)
    publish(series, "a", (Person(id=1, group=0, values=tuple(names)), Person(id=2, group=0)))
    history = series.history(pl.Series([2]), names)
    lengths, exposures = history.held(history.groups[0])
    assert lengths.tolist() == [values]
    assert np.array_equal(history.value[exposures], np.arange(values))
    assert (history.size == 2).all()
    assert (history.count == 1).all()


def test_dtypes_are_those_that_kernels_read(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    found = series.history(pl.Series(["ann", "nobody"]), ["HIV", "flu"])
    none = Past.none(2)
    for name in ("groups", "lists", "value", "count", "size"):
        assert getattr(found, name).dtype == getattr(none, name).dtype, name
    assert found.groups.tolist() == [[0], [-1]]


def test_before_the_first_release_there_is_no_history(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    history = series.history(pl.Series(["ann"]), ["flu"])
    assert history.groups.shape == (1, 0)
    assert len(history.size) == 0


def test_nothing_asked_gives_empty_arrays(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    nobody = series.history(pl.Series([], dtype=pl.String), ["flu"])
    assert nobody.groups.shape == (0, 1)
    no_value = series.history(pl.Series(["ann", "bob"]), [])
    assert no_value.groups.tolist() == [[-1], [-1]]
    assert len(no_value.lists) == 0


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
    with pytest.raises(InputRefused, match="knows no person") as refused:
        series.exposures(person, "flu")
    assert str(person) not in str(refused.value)
