"""The verifier's question answered from the files of a ledger, row by row, in fractions: slow, and
without a line of the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

Id = str | int


@dataclass(frozen=True)
class Member:
    """One person of a proposed release, absent or with a record, and the names that it holds."""

    group: int
    is_present: bool
    names: frozenset[str]


@dataclass(frozen=True)
class Group:
    """One group of a release: the people to choose from, and how many of them hold each value."""

    size: int
    counts: Mapping[str, int]

    def survival(self, name: str) -> Fraction:
        return 1 - Fraction(self.counts.get(name, 0), self.size)


def rows_of(folder: Path, part: str) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob(f"{part}*.parquet")):
        yield from pl.read_parquet(path).iter_rows(named=True)


def groups_on_disk(ledger: Path, presence_known: Sequence[bool]) -> list[dict[Id, Group]]:
    """For each release the group of everybody that was a member, by id."""
    ids: list[Id] = []
    releases = []
    for number, is_known in enumerate(presence_known, 1):
        folder = ledger / f"{number:04}"
        ids += [row["id"] for row in rows_of(folder, "people")]
        members = list(rows_of(folder, "members"))
        sizes = Counter(row["group"] for row in members if row["present"] or not is_known)
        counts: dict[int, dict[str, int]] = {}
        for row in rows_of(folder, "values"):
            counts.setdefault(row["group"], {})[row["value"]] = row["count"]
        releases.append(
            {
                ids[row["person"]]: Group(sizes[row["group"]], counts.get(row["group"], {}))
                for row in members
            }
        )
    return releases


def probabilities(
    ledger: Path,
    past_presence_known: Sequence[bool],
    proposed: Mapping[Id, Member],
    presence_known: bool,
) -> dict[tuple[Id, str], Fraction]:
    """p of every member and every value in its group, if the groups were published."""
    earlier = groups_on_disk(ledger, past_presence_known)
    found = {}
    for number in {member.group for member in proposed.values()}:
        inside = {who: member for who, member in proposed.items() if member.group == number}
        if not any(member.is_present for member in inside.values()):
            continue  # the group is not published
        size = sum(member.is_present or not presence_known for member in inside.values())
        held = Counter(name for member in inside.values() for name in member.names)
        for who in inside:
            for name in held:
                survival = Group(size, held).survival(name)
                for release in earlier:
                    if who in release:
                        survival *= release[who].survival(name)
                found[who, name] = 1 - survival
    return found
