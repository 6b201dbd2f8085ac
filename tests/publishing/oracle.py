"""What an outsider can work out from an export, the public files and the raw tables.

Nothing here comes from the package under test. Probabilities are fractions; the regions of a
generalised release are read off their labels, as the public has to read them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

Cells = tuple[object, ...]
Holds = Callable[[str, object], bool]


@dataclass(frozen=True)
class Group:
    """One group of one release, as the export has it."""

    size: int
    present: int
    excluded: int  # who cannot hold a transient value
    values: dict[str, int]
    members: dict[str, bool]  # person -> whether it has a record


@dataclass(frozen=True)
class Export:
    """The ledger of a series: for each release its adversary and its groups."""

    labels: tuple[str, ...]
    thresholds: tuple[Fraction, ...]
    adversaries: tuple[str, ...]
    known_members: tuple[int, ...]
    groups: tuple[dict[int, Group], ...]


EVERY = "every column"


def read_export(folder: Path, column: str | None = EVERY) -> Export:
    """Read the four files, and check that sizes and counts are those of the members.

    With the name of a column, only its values are read, or with None those of classes across
    columns.
    """
    releases = pl.read_parquet(folder / "releases.parquet").sort("release")
    numbers = releases["release"].to_list()
    assert numbers == list(range(1, len(numbers) + 1))
    members: dict[tuple[int, int], dict[str, bool]] = defaultdict(dict)
    seen = set()
    for release, person, group, present in pl.read_parquet(folder / "members.parquet").iter_rows():
        assert (release, person) not in seen, "a person is in two groups of one release"
        seen.add((release, person))
        members[release, group][person] = present
    values: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    counts = pl.read_parquet(folder / "values.parquet")
    if column != EVERY:
        counts = counts.filter(pl.col("column").eq_missing(column))
    for release, group, value, count in counts.select(
        "release", "group", "value", "count"
    ).iter_rows():
        assert value not in values[release, group]
        values[release, group][value] = count
    groups: list[dict[int, Group]] = [{} for _ in numbers]
    listed = pl.read_parquet(folder / "groups.parquet")
    for release, group, size, present, excluded in listed.iter_rows():
        mine = members.pop((release, group))
        assert size == len(mine)
        assert present == sum(mine.values()) > 0
        held = values.pop((release, group), {})
        assert all(0 < count <= present for count in held.values())
        groups[release - 1][group] = Group(size, present, excluded, held, mine)
    assert not members, "members of a group that is not listed"
    assert not values, "values of a group that is not listed"
    return Export(
        tuple(releases["label"]),
        tuple(Fraction(text) for text in releases["threshold"]),
        tuple(releases["adversary"]),
        tuple(releases["known_members"]),
        tuple(groups),
    )


def largest_by_release(export: Export) -> Iterator[dict[str, Fraction]]:
    """After each release, the largest probability of any person so far, for each value.

    Everybody in a group is charged for every value in it, absent members too.
    """
    # Histories are shared: a step from one survival to the next is computed once.
    survivals = [Fraction(1)]
    steps: dict[tuple[int, int, int], int] = {}
    standing: dict[tuple[str, str], int] = {}
    largest: dict[str, Fraction] = {}
    for adversary, known, groups in zip(
        export.adversaries, export.known_members, export.groups, strict=True
    ):
        touched: dict[str, set[int]] = defaultdict(set)
        for group in groups.values():
            people = group.present if adversary == "presence known" else group.size
            people -= known + group.excluded
            for value, count in group.values.items():
                for person in group.members:
                    step = (standing.get((person, value), 0), people, count)
                    if step not in steps:
                        steps[step] = len(survivals)
                        survivals.append(survivals[step[0]] * (1 - Fraction(count, people)))
                    standing[person, value] = steps[step]
                    touched[value].add(steps[step])
        for value, states in touched.items():
            now = max(1 - survivals[state] for state in states)
            largest[value] = max(now, largest.get(value, Fraction(0)))
        yield dict(largest)


def check_guarantee(
    export: Export, thresholds: Mapping[str, Fraction] | None = None
) -> list[Fraction]:
    """That no pair of any release is above its threshold; returns the largest of each release."""
    found = []
    for number, largest in enumerate(largest_by_release(export)):
        for value, probability in largest.items():
            allowed = (thresholds or {}).get(value, export.thresholds[number])
            assert probability <= allowed, (export.labels[number], value, probability)
        found.append(max(largest.values(), default=Fraction(0)))
    return found


def in_range(label: str, cell: object) -> bool:
    """Whether a number, or a date in ISO form, lies in a region such as ``[20, 31]``."""
    label, with_missing = _without_missing(label)
    if cell is None:
        return with_missing
    if not label:
        return False
    low, _, high = label.strip("[]").partition(", ")
    if isinstance(cell, str):
        return low <= cell <= (high or low)
    assert isinstance(cell, int | float)
    return float(low) <= cell <= float(high or low)


def in_set(label: str, cell: object) -> bool:
    """Whether a category is one of a region such as ``{a, b}``."""
    label, with_missing = _without_missing(label)
    return with_missing if cell is None else cell in label.strip("{}").split(", ")


def in_node(taxonomy: str) -> Holds:
    """Whether a leaf is under the node, or one of the nodes, of a region; ARX's text is given."""
    above = {line.split(";")[0]: line.split(";") for line in taxonomy.splitlines()}

    def holds(label: str, cell: object) -> bool:
        rest, with_missing = _without_missing(label)
        if cell is None:
            return with_missing
        return any(node in above[str(cell)] for node in rest.strip("{}").split(", "))

    return holds


def _without_missing(label: str) -> tuple[str, bool]:
    if label == "missing":
        return "", True
    if label.startswith("{missing, "):
        return label.removeprefix("{missing, ").removesuffix("}"), True
    return label, False


def regions_of_people(
    regions: Sequence[tuple[str, ...]], holds: Sequence[Holds], people: Iterable[Cells]
) -> Iterator[list[int]]:
    """For each person all regions, by number, that its quasi-identifiers lie in."""
    by_label: list[dict[str, int]] = [defaultdict(int) for _ in holds]
    for number, region in enumerate(regions):
        for labels, label in zip(by_label, region, strict=True):
            labels[label] |= 1 << number
    known: list[dict[object, int]] = [{} for _ in holds]
    for cells in people:
        inside = (1 << len(regions)) - 1
        for column, cell in enumerate(cells):
            if cell not in known[column]:
                known[column][cell] = 0
                for label, numbers in by_label[column].items():
                    if holds[column](label, cell):
                        known[column][cell] |= numbers
            inside &= known[column][cell]
        yield [number for number in range(inside.bit_length()) if inside >> number & 1]


def check_generalised(
    groups: Mapping[int, Group],
    published: pl.DataFrame,
    everybody: Mapping[str, Cells],
    holds: Sequence[Holds],
    counted_as: Callable[[str], Collection[str]],
) -> None:
    """That the published regions are those of the ledger's groups, row by row and value by value.

    ``everybody`` is whom the adversary reckons with: each lies in the region of its own group and
    in no other, or, where it is no member, in no region at all.
    """
    *columns, sensitive = published.columns
    rows: Counter[tuple[str, ...]] = Counter()
    held: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for *cells, values in published.iter_rows():
        rows[tuple(cells)] += 1
        held[tuple(cells)].update(_names(values, counted_as))
    assert len(columns) == len(holds)
    assert published[sensitive].len() == sum(group.present for group in groups.values())
    regions = list(rows)
    group_of = {person: number for number, group in groups.items() for person in group.members}
    region_of: dict[int, int] = {}
    people = list(everybody)
    for person, inside in zip(
        people, regions_of_people(regions, holds, everybody.values()), strict=True
    ):
        if person not in group_of:
            assert not inside, "somebody lies in a published region without being charged"
        else:
            assert len(inside) == 1, "a member lies in no region, or in several"
            assert region_of.setdefault(group_of[person], inside[0]) == inside[0]
    assert sorted(region_of) == sorted(groups)
    assert len(set(region_of.values())) == len(groups) == len(regions)
    for number, group in groups.items():
        region = regions[region_of[number]]
        assert rows[region] == group.present
        assert held[region] == group.values


def check_bucketised(
    groups: Mapping[int, Group],
    quasi_identifiers: pl.DataFrame,
    sensitive: pl.DataFrame,
    everybody: Mapping[str, Cells],
    presence_known: bool,
    counted_as: Callable[[str], Collection[str]],
) -> None:
    """That the two tables show the ledger's groups: their members, and what they hold.

    Sets of values cannot be put together again, so that only values that are protected themselves
    are compared here, and classes by `check_holders`.
    """
    shown: dict[int, Counter[Cells]] = defaultdict(Counter)
    for group, *cells in quasi_identifiers.iter_rows():
        shown[group][tuple(cells)] += 1
    held: dict[int, dict[str, int]] = defaultdict(dict)
    for group, value, count in sensitive.iter_rows():
        assert value not in held[group]
        held[group][value] = count
    assert set(shown) == set(groups)
    assert set(held) <= set(groups)
    for number, known in groups.items():
        members = [who for who, present in known.members.items() if present or not presence_known]
        assert shown[number] == Counter(everybody[person] for person in members)
        protected = {v: count for v, count in held[number].items() if v in counted_as(v)}
        assert protected == {v: count for v, count in known.values.items() if v in counted_as(v)}


def check_holders(
    groups: Mapping[int, Group],
    sets: Mapping[str, Collection[str]],
    counted_as: Callable[[str], Collection[str]],
    suppressed: Mapping[str, int],
) -> None:
    """That the counts are those of the raw table, but for what was suppressed: of a value that is
    shown, so many holders; a value that is not shown at all is not counted.

    Whoever is in the table is a member, unless it lost all its values and nobody near it is
    published; whoever has a record is in the table.
    """
    unseen = set(sets) - {person for group in groups.values() for person in group.members}
    missing: Counter[str] = Counter()
    for person in unseen:
        missing.update(_names(sets[person], counted_as))
    assert len(unseen) <= missing.total()
    shown: set[str] = set()
    for group in groups.values():
        assert all(person in sets for person, present in group.members.items() if present)
        raw: Counter[str] = Counter()
        for person in group.members:
            raw.update(_names(sets.get(person), counted_as))
        assert all(count <= raw[value] for value, count in group.values.items())
        missing.update(raw - Counter(group.values))
        shown |= set(group.values)
    assert {name: missing[name] for name in shown if missing[name]} == suppressed


def _names(values: Any, counted_as: Callable[[str], Collection[str]]) -> set[str]:
    """The protected names that one record counts as."""
    if values is None:
        return set()
    each = [values] if isinstance(values, str) else values
    return {name for value in each for name in counted_as(value)}
