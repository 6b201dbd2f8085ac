"""The verifier reads a ledger as the slow reference does, and notices what does not add up."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.builders import FIRST, SECOND, new_series, publish
from ledger.builders import Person as Published
from model.models import Person, crowds, id_of, names_held, population_of, protected_names
from model.settings import about
from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.errors import GuaranteeExceeded, ImpossibleState, LedgerDamaged, StorageError
from serigraph.ledger import PRESENCE_KNOWN, PRESENCE_UNKNOWN, Series
from serigraph.ledger.layout import Layout
from serigraph.verification import LedgerOnDisk, Proposal, verify
from verification.reference import Member, probabilities

NOBODY = np.empty((0, 0), dtype=np.int32)


def on_disk(series: Series) -> LedgerOnDisk:
    return ledger_on_disk(Layout(series.path), series.releases())


def told(_done: int, _total: int) -> None:
    """Nobody watches."""


@st.composite
def releases(draw: st.DrawFn, people: int) -> list[tuple[str, list[Published]]]:
    """Up to three releases of some of the people and of others, groups numbered from 0 on."""
    made = []
    for _ in range(draw(st.integers(1, 3))):
        numbers = draw(st.lists(st.integers(0, people + 3), min_size=1, max_size=9, unique=True))
        groups = draw(st.lists(st.integers(0, 2), min_size=len(numbers), max_size=len(numbers)))
        dense = {group: place for place, group in enumerate(sorted(set(groups)))}
        members = []
        for number, group in zip(numbers, groups, strict=True):
            present = draw(st.booleans()) or groups.index(group) == len(members)
            values = draw(st.sets(st.sampled_from("abcd"), max_size=2)) if present else set()
            names = tuple(names_held(frozenset(values)))
            members.append(Published(id_of(number), dense[group], names, present))
        made.append((draw(st.sampled_from([PRESENCE_KNOWN, PRESENCE_UNKNOWN])), members))
    return made


@about(25)
@given(st.data(), crowds(), st.fractions(Fraction(1, 10), Fraction(9, 10)), st.booleans())
def test_every_pair_is_what_the_reference_computes(
    data: st.DataObject, people: list[Person], threshold: Fraction, presence_known: bool
) -> None:
    past = data.draw(releases(len(people)))
    group = data.draw(st.lists(st.integers(0, 2), min_size=len(people), max_size=len(people)))
    names = protected_names(people)
    population = population_of(people, names, dict.fromkeys(names, threshold))
    proposed = {
        id_of(number): Member(group[number], each.present, frozenset(names_held(each.values)))
        for number, each in enumerate(people)
    }
    with tempfile.TemporaryDirectory() as folder:
        series = new_series(Path(folder))
        for number, (adversary, members) in enumerate(past):
            publish(series, f"r{number}", members, adversary=adversary)
        known = [adversary == PRESENCE_KNOWN for adversary, _ in past]
        found = probabilities(series.path / "ledger", known, proposed, presence_known)

        def examine() -> None:
            proof = verify(
                population,
                on_disk(series),
                Proposal("bucketised", np.array(group), NOBODY, NOBODY),
                presence_known=presence_known,
                minimum_size=1,
                where="here",
            )
            assert (proof.pairs, proof.largest) == (len(found), max(found.values(), default=0))

        if max(found.values(), default=Fraction(0)) > threshold:
            with pytest.raises(GuaranteeExceeded, match="breach probability"):
                examine()
        else:
            examine()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    series = new_series(tmp_path_factory.mktemp("template"))
    publish(series, "a", FIRST)
    publish(series, "b", SECOND)
    return series.path


@pytest.fixture
def series(template: Path, tmp_path: Path) -> Series:
    return Series.open(shutil.copytree(template, tmp_path / "clinic"))


def asked(ledger: LedgerOnDisk, *ids: str) -> list[dict[str, list[tuple[str, int, int]]]]:
    """For each release that matters, what the groups of the people that were in it held."""
    names = ["HIV", "flu"]
    found = []
    for each in ledger.groups_of(pl.Series(ids, dtype=pl.String), names, told):
        entries = {}
        for who, group in zip(ids, each.group.tolist(), strict=True):
            if group >= 0:
                part = slice(each.start[group], each.start[group + 1])
                held = zip(each.value[part].tolist(), each.count[part].tolist(), strict=True)
                entries[who] = [(names[v], int(n), int(each.size[group])) for v, n in held]
        found.append(entries)
    return found


def test_a_person_is_found_in_every_release(series: Series) -> None:
    ledger = on_disk(series)
    assert sorted(ledger.people()) == sorted({each.id for each in (*FIRST, *SECOND)})
    assert asked(ledger, "ann", "dan") == [
        {"ann": [("flu", 1, 2)], "dan": [("HIV", 1, 2), ("flu", 1, 2)]},
        {"ann": [("HIV", 2, 3)], "dan": [("flu", 1, 2)]},
    ]
    assert asked(ledger, "zoe") == [{"zoe": [("flu", 1, 2)]}]  # nobody asks for the first release
    assert asked(ledger, "nobody") == asked(ledger) == []


def test_ids_of_another_type_are_not_looked_up(series: Series) -> None:
    with pytest.raises(ImpossibleState, match="another type"):
        on_disk(series).groups_of(pl.Series([1, 2]), ["HIV"], told)


def test_text_is_found_in_any_unicode_form(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", [Published("Rene\u0301", 0, ("Fie\u0300vre",)), Published("bob", 0)])
    found = on_disk(series).groups_of(pl.Series(["Ren\u00e9"]), ["Fi\u00e8vre"], told)
    assert [(each.group.tolist(), each.count.tolist()) for each in found] == [([0], [1])]


@pytest.mark.parametrize("part", ["people", "members", "groups", "values"])
def test_a_changed_byte_is_noticed(series: Series, part: str) -> None:
    path = series.path / f"ledger/0001/{part}.parquet"
    ledger = on_disk(series)
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(LedgerDamaged, match=f"was changed - ledger/0001/{part}.parquet"):
        asked(ledger, "ann")
    path.unlink()
    with pytest.raises(LedgerDamaged, match=f"is missing - ledger/0001/{part}.parquet"):
        asked(ledger, "ann")
    path.mkdir()
    with pytest.raises(StorageError, match="cannot be read"):
        asked(ledger, "ann")


def test_a_part_that_the_catalog_does_not_name_is_not_done_without(series: Series) -> None:
    first, second = on_disk(series).releases
    nameless = {name: digest for name, digest in first.digests.items() if "values" not in name}
    with pytest.raises(LedgerDamaged, match="names no such part"):
        asked(LedgerOnDisk((replace(first, digests=nameless), second)), "ann")


def plus(name: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda rows: rows.with_columns(pl.col(name) + 1)


WRONG: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = {
    "a group of another size": ("groups", plus("size")),
    "a group with more records": ("groups", plus("present")),
    "groups that are numbered otherwise": ("groups", plus("group")),
    "a group that is missing": ("groups", lambda rows: rows.head(-1)),
    "a member in another group": ("members", lambda rows: rows.with_columns(group=pl.lit(0))),
    "a member that nobody knows": ("members", plus("person")),
    "a member that is missing": ("members", lambda rows: rows.head(-1)),
    "a member twice": ("members", lambda rows: rows.with_columns(pl.col("person").clip(1))),
    "a person that is missing": ("people", lambda rows: rows.head(-1)),
    "more holders than people": ("values", lambda rows: rows.with_columns(count=pl.lit(4))),
    "no holder": ("values", lambda rows: rows.with_columns(count=pl.lit(0))),
    "a value in a group that is not there": ("values", plus("group")),
    "a value that is missing": ("values", lambda rows: rows.filter(value="HIV")),
    "more holders": ("values", lambda rows: rows.with_columns(count=pl.lit(2))),
    "another value": ("values", lambda rows: rows.with_columns(value=pl.lit("HIV"))),
    "a holder that is missing": ("holders", lambda rows: rows.head(-2)),
    "a holder twice": ("holders", lambda rows: pl.concat([rows.head(1), rows])),
    "a holder without a record": ("holders", lambda rows: rows.with_columns(person=pl.lit(3))),
    "a holder that nobody knows": ("holders", lambda rows: rows.with_columns(person=pl.lit(99))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_number_with_a_right_digest_is_noticed(series: Series, name: str) -> None:
    part, change = WRONG[name]
    first, second = on_disk(series).releases
    path = first.folder / f"{part}.parquet"
    rows = pl.read_parquet(path)
    change(rows).cast(dict(rows.schema)).write_parquet(path)
    digests = {**first.digests, path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
    with pytest.raises(LedgerDamaged, match="ledger/0001/"):
        asked(LedgerOnDisk((replace(first, digests=digests), second)), "ann", "cat")


def test_fewer_holders_are_noticed_where_the_release_records_them(series: Series) -> None:
    first, second = on_disk(series).releases
    path = second.folder / "values.parquet"
    rows = pl.read_parquet(path)
    assert rows["count"].to_list() == [2, 1]
    rows.with_columns(pl.col("count").clip(upper_bound=1)).write_parquet(path)
    digests = {**second.digests, path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
    with pytest.raises(LedgerDamaged, match=r"holders .* are not .* ledger/0002/holders"):
        asked(LedgerOnDisk((first, replace(second, digests=digests))), "ann")
    del digests["holders.parquet"]  # as in a release of version 0.1
    _, found = asked(LedgerOnDisk((first, replace(second, digests=digests))), "ann")
    assert found == {"ann": [("HIV", 1, 3)]}


def test_a_person_that_is_known_twice_is_noticed(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", [Published("Rene\u0301", 0), Published("Ren\u00e9", 0)])
    with pytest.raises(LedgerDamaged, match="knows people twice"):
        asked(on_disk(series), "Ren\u00e9")
