"""The figures of an audit, in plain Python from the exported ledger. Imports nothing under test."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import polars as pl

Pair = tuple[str, str]  # person and value


@dataclass(frozen=True)
class Membership:
    """One release, as anybody can read it from an export."""

    present: dict[str, bool]
    group: dict[str, int]
    size: dict[int, int]
    present_size: dict[int, int]
    held: dict[int, dict[str, int]]


def releases_of(folder: Path) -> list[Membership]:
    """The releases of an exported ledger, oldest first."""
    frames = {
        name: pl.read_parquet(folder / f"{name}.parquet")
        for name in ("releases", "members", "groups", "values")
    }
    found = []
    for number in frames["releases"]["release"]:
        members, groups, values = (
            frames[name].filter(pl.col("release") == number)
            for name in ("members", "groups", "values")
        )
        held: dict[int, dict[str, int]] = defaultdict(dict)
        for row in values.iter_rows(named=True):
            held[row["group"]][row["value"]] = row["count"]
        found.append(
            Membership(
                present=dict(zip(members["person"], members["present"], strict=True)),
                group=dict(zip(members["person"], members["group"], strict=True)),
                size=dict(zip(groups["group"], groups["size"], strict=True)),
                present_size=dict(zip(groups["group"], groups["present"], strict=True)),
                held=held,
            )
        )
    return found


def risks(
    release: Membership, *, only_present: bool = False, known: int = 0
) -> dict[Pair, Fraction]:
    """The probability of a link of every pair in one release alone."""
    found = {}
    for person, group in release.group.items():
        if only_present and not release.present[person]:
            continue
        n = release.present_size[group] if only_present else release.size[group]
        for value, count in release.held.get(group, {}).items():
            found[person, value] = Fraction(count, max(n - known, count))
    return found


def combined(alone: list[dict[Pair, Fraction]], *, adds: bool = False) -> dict[Pair, Fraction]:
    """The probability of every pair over several releases."""
    total: dict[Pair, Fraction] = {}
    for release in alone:
        for pair, risk in release.items():
            before = total.get(pair, Fraction(0))
            total[pair] = min(before + risk, Fraction(1)) if adds else 1 - (1 - before) * (1 - risk)
    return total


@dataclass(frozen=True)
class Expected:
    """The figures that an audit has to give for a set of pairs."""

    pairs: int
    people: int
    largest: Fraction
    mean: float
    pairs_above: int
    people_above: int


def figures(found: dict[Pair, Fraction], threshold: Fraction) -> Expected:
    above = {pair for pair, p in found.items() if p > threshold}
    return Expected(
        pairs=len(found),
        people=len({person for person, _ in found}),
        largest=max(found.values(), default=Fraction(0)),
        mean=float(sum(found.values()) / max(len(found), 1)),
        pairs_above=len(above),
        people_above=len({person for person, _ in above}),
    )
