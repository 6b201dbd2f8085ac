"""Every figure of a series, in plain Python from its exported ledger and its tables.

Imports nothing from the package under test.
"""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import polars as pl

Pair = tuple[str, str]  # person and value
Closest = tuple[Fraction, Fraction]  # a probability and the threshold of its value


@dataclass(frozen=True)
class Release:
    """One release as its export has it, with the rows that it was made from."""

    label: str
    published_at: str
    group: Mapping[str, int]
    present: Mapping[str, bool]
    size: Mapping[int, int]
    present_size: Mapping[int, int]
    held: Mapping[int, Mapping[str, int]]
    is_presence_known: bool
    cells: Mapping[str, tuple[str, ...]]  # quasi-identifiers of everybody in table and registry
    values: Mapping[str, str]  # the sensitive cell of everybody in the table

    def risks(self, *, only_present: bool = False, known: int = 0) -> dict[Pair, Fraction]:
        """n_s/n of every pair of a member and a value of its group."""
        found = {}
        presence = only_present or self.is_presence_known
        for person, group in self.group.items():
            if presence and not self.present[person]:
                continue
            n = self.present_size[group] if presence else self.size[group]
            for value, count in self.held.get(group, {}).items():
                found[person, value] = Fraction(count, max(n - known, count))
        return found

    def missing(self) -> Counter[str]:
        """Holders whom the table has and the release has not; everybody has one value."""
        return Counter(
            value for person, value in self.values.items() if not self.present.get(person, False)
        )

    def gap_risks(self) -> dict[str, Fraction]:
        """The chance to be a missing holder of a value, for anybody without a record."""
        missing, shown = self.missing(), self.holders()
        without_record = len(self.cells) - sum(self.present.values())
        are_others_absent = len(self.cells) > len(self.values)
        return {
            value: Fraction(count, without_record)
            for value, count in missing.items()
            if shown[value] or not are_others_absent
        }

    def linked_sizes(self) -> list[int]:
        return [self.size[group] for group in self.held]

    def holders(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for held in self.held.values():
            found.update(held)
        return found


def read_releases(
    exported: Path,
    tables: Iterable[Path],
    registries: Iterable[Path | None],
    columns: tuple[str, ...],
) -> list[Release]:
    """The releases of an export, oldest first; tables and registries are those of each."""
    frames = {
        name: pl.read_parquet(exported / f"{name}.parquet")
        for name in ("releases", "members", "groups", "values")
    }
    found = []
    rows = frames["releases"].iter_rows(named=True)
    for row, table, registry in zip(rows, tables, registries, strict=True):
        listed = {} if registry is None else _cells(registry, columns)
        members, groups, values = (
            frames[name].filter(pl.col("release") == row["release"])
            for name in ("members", "groups", "values")
        )
        held: dict[int, dict[str, int]] = defaultdict(dict)
        for entry in values.iter_rows(named=True):
            held[entry["group"]][entry["value"]] = entry["count"]
        found.append(
            Release(
                label=row["label"],
                published_at=row["published_at"],
                group=dict(zip(members["person"], members["group"], strict=True)),
                present=dict(zip(members["person"], members["present"], strict=True)),
                size=dict(zip(groups["group"], groups["size"], strict=True)),
                present_size=dict(zip(groups["group"], groups["present"], strict=True)),
                held=held,
                is_presence_known=row["adversary"] == "presence known",
                cells=listed | _cells(table, columns),
                values={each["patient"]: each["diagnosis"] for each in _rows(table)},
            )
        )
    return found


@dataclass(frozen=True)
class Series:
    """The releases up to one of them, and the thresholds of the policy."""

    releases: tuple[Release, ...]
    threshold: Fraction
    own: Mapping[str, Fraction]

    @property
    def latest(self) -> Release:
        return self.releases[-1]

    def until(self, number: int) -> Series:
        return Series(self.releases[:number], self.threshold, self.own)

    def threshold_of(self, value: str) -> Fraction:
        """What groups may spend of the threshold, after what missing holders have told."""
        survival = Fraction(1)
        for release in self.releases:
            survival *= 1 - release.gap_risks().get(value, Fraction(0))
        return 1 - (1 - self.own.get(value, self.threshold)) / survival

    @cached_property
    def _thresholds(self) -> dict[str, Fraction]:
        held = {value for release in self.releases for value in release.holders()}
        return {value: self.threshold_of(value) for value in held}

    def probabilities(
        self, *, only_present: bool = False, known: int = 0, adds: bool = False
    ) -> dict[Pair, Fraction]:
        """p of every pair that was ever linked."""
        found: dict[Pair, Fraction] = {}
        for release in self.releases:
            for pair, risk in release.risks(only_present=only_present, known=known).items():
                before = found.get(pair, Fraction(0))
                found[pair] = (
                    min(before + risk, Fraction(1)) if adds else 1 - (1 - before) * (1 - risk)
                )
        return found

    def touched(self) -> dict[Pair, Fraction]:
        """p of the pairs that the latest release touches."""
        whole = self.probabilities()
        return {pair: whole[pair] for pair in self.latest.risks()}

    def worst(self, pairs: Mapping[Pair, Fraction]) -> dict[str, Closest]:
        """The values that come closest to their thresholds, with how close; several if equal."""
        if not pairs:
            return {}
        share = {pair: p / self._thresholds[pair[1]] for pair, p in pairs.items()}
        most = max(share.values())
        return {
            pair[1]: (pairs[pair], self._thresholds[pair[1]])
            for pair, each in share.items()
            if each == most
        }

    def by_share(self, pairs: Mapping[Pair, Fraction]) -> list[int]:
        """Pairs by the tenth of their threshold that they are up to; above it in the last."""
        parts = Counter(
            10 if p > self._thresholds[value] else math.ceil(10 * p / self._thresholds[value]) - 1
            for (_, value), p in pairs.items()
        )
        return [parts[tenth] for tenth in range(11)]

    def above(self, pairs: Mapping[Pair, Fraction]) -> set[Pair]:
        return {pair for pair, p in pairs.items() if p > self._thresholds[pair[1]]}


def widths(release: Release, columns: tuple[str, ...], numeric: set[str]) -> dict[str, float]:
    """How wide the group of a member is on average, in each column, where the whole range is 1."""
    members: dict[int, list[str]] = defaultdict(list)
    for person, group in release.group.items():
        members[group].append(person)
    found = {}
    for number, name in enumerate(columns):
        cells = {person: all_cells[number] for person, all_cells in release.cells.items()}
        place: dict[str, float]
        if name in numeric:
            place = {cell: float(cell) for cell in set(cells.values())}
        else:
            place = {cell: float(at) for at, cell in enumerate(sorted(set(cells.values())))}
        whole = max(place.values()) - min(place.values())
        total = 0.0
        for people in members.values():
            at = [place[cells[person]] for person in people]
            total += len(people) * (max(at) - min(at)) / whole
        found[name] = total / len(release.group)
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _cells(path: Path, columns: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {row["patient"]: tuple(row[name] for name in columns) for row in _rows(path)}
