"""Four ways in which version 0.1.0 gave holders away, tried through the public functions.

Each takes a seed and an empty folder, and says of how many people or worlds too much is known.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import serigraph
from publishing.test_public_digests import possible_tables, published, worlds_that_match
from serigraph.errors import Infeasible
from serigraph.ledger import Series

OTHERS = ("flu", "gout", "cold")
NAMES = ("s0", "s1", "s2")
RELEASES = 6
LIMIT = 0.5
POLICY = """version = 1
[person]
id = "id"
type = "integer"
{columns}
[sensitive]
column = "diagnosis"
[protected]
values = ["s0", "s1", "s2"]
unheld = "allow"
[protected.persistence]
default = "{persistence}"
[guarantee]
threshold = "1/2"
adversary = "{adversary}"
[strategy]
name = "constant"
releases = {releases}
[output]
form = "{form}"
files = ["parquet"]
"""


@dataclass(frozen=True)
class Told:
    """Of whom too much is known, of how many."""

    told: int
    of: int

    def __add__(self, other: Told) -> Told:
        return Told(self.told + other.told, self.of + other.of)


@dataclass(frozen=True)
class Classes:
    """How many published holders there are, and how many of them are in a class of people alike of
    which more than half, or all, were ever published as holders."""

    holders: int
    above: int
    certain: int
    worst: float


def new_series(folder: Path, columns: Iterable[str], **how: object) -> Series:
    usual = {"persistence": "transient", "adversary": "presence known", "releases": 2}
    sections = "\n".join(f'[quasi_identifiers.{each}]\nkind = "numeric"' for each in columns)
    text = POLICY.format(columns=sections, **(usual | how))
    return Series.create(folder, {"policy.toml": text.encode()})


def places(draw: np.random.Generator, people: int) -> pl.DataFrame:
    columns = {f"q{number}": draw.integers(0, people // 2, people) for number in range(4)}
    return pl.DataFrame({"id": np.arange(people), **columns})


def suppression(seed: int, folder: Path, people: int = 1500) -> Told:
    """Presence is known: who is in the table and in no row held what was left out."""
    draw = np.random.default_rng(seed)
    base = places(draw, people)
    columns = base.columns[1:]
    series = new_series(folder / "series", columns, form="bucketised")
    told = held = 0
    for number in range(RELEASES):
        holds = draw.random(people) < 0.08
        other = np.array(OTHERS)[draw.integers(0, len(OTHERS), people)]
        table = base.with_columns(diagnosis=pl.Series(np.where(holds, "s0", other)))
        try:
            made = serigraph.publish(table, series, label=f"r{number}", allow_suppression=True)
        except Infeasible:
            continue
        shown = made.tables["quasi_identifiers"].select(pl.col(columns).cast(pl.Int64))
        missing = base.join(shown.unique(), on=columns, how="anti")["id"].to_numpy()
        told += int(holds[missing].sum())
        held += int(holds.sum())
    return Told(told, held)


def minimality(seed: int, folder: Path, people: int = 60) -> Told:
    """Everybody in turn is the only holder: who of its group gives the same release?"""
    draw = np.random.default_rng(seed)
    places = {f"q{number}": draw.permutation(people) for number in range(3)}
    base = pl.DataFrame({"id": np.arange(people), **places})
    seen = []
    for holder in range(people):
        held = ["s0" if each == holder else "flu" for each in range(people)]
        series = new_series(folder / f"{holder}", places, form="generalised", releases=5)
        table = base.with_columns(diagnosis=pl.Series(held))
        rows = serigraph.publish(table, series, label="r").tables["table"]
        regions = rows.select(pl.exclude("diagnosis").cast(pl.String)).rows()
        values = rows["diagnosis"].explode().to_list()
        mine = next(region for region, value in zip(regions, values, strict=True) if value == "s0")
        release = sorted(zip(regions, values, strict=True))
        seen.append((release, regions.count(mine)))
    struck_off = sum(sum(other == rows for other, _ in seen) < size for rows, size in seen)
    return Told(struck_off, people)


def digests(seed: int, folder: Path) -> Told:
    """Every table with the published counts, hashed as the ledger does, against the certificate."""
    series, _ = published(folder / "series", seed)
    worlds = possible_tables(series.path / "releases" / "r2")
    return Told(len(worlds_that_match(series, worlds)), len(worlds))


def persistence(seed: int, folder: Path, people: int = 1500) -> Told:
    """Values that last and are called so, with presence known, and unknown beside a registry."""
    forms = ("generalised", "bucketised")
    found = [
        in_classes(seed, folder / f"{form} {has_registry}", people, form, has_registry)
        for form, has_registry in itertools.product(forms, (False, True))
    ]
    return Told(sum(each.above for each in found), sum(each.holders for each in found))


def in_classes(
    seed: int,
    folder: Path,
    people: int,
    form: str,
    has_registry: bool,
    called: str = "any",
    literal: bool = False,
) -> Classes:
    """Six releases of values that are ``called`` so; seven of ten holders keep theirs, or with odd
    seeds all of them, and four people of five come.

    People are alike if they are in the same groups with the value. Where presence is known, they
    also came to the same releases, up to the one that first shows a holder: what they do later
    tells of them only if attendance depends on the value. In ``literal`` classes it counts too.
    """
    draw = np.random.default_rng(seed)
    keeps = 1.0 if seed % 2 else 0.7
    base = places(draw, people)
    adversary = "presence unknown" if has_registry else "presence known"
    series = new_series(
        folder,
        base.columns[1:],
        form=form,
        adversary=adversary,
        persistence=called,
        releases=RELEASES,
    )
    holds = np.where(draw.random(people) < 0.03, draw.integers(0, len(NAMES), people), -1)
    here = np.zeros((people, RELEASES), dtype=np.bool_)
    truth = []
    for number in range(RELEASES):
        here[:, number] = draw.random(people) < 0.8
        values = np.where(holds >= 0, np.array(NAMES)[holds], "flu")
        table = base.with_columns(diagnosis=pl.Series(values)).filter(pl.Series(here[:, number]))
        serigraph.publish(
            table,
            series,
            label=f"r{number}",
            registry=base if has_registry else None,
            allow_suppression=True,
            assume_transient=NAMES if called == "transient" else (),
        )
        truth.append(holds)
        new = np.where(draw.random(people) < 0.03, draw.integers(0, len(NAMES), people), -1)
        holds = np.where(draw.random(people) < keeps, holds, new)
    serigraph.export(series, folder.parent / f"{folder.name} exported")
    if has_registry:
        here = np.zeros_like(here)  # nobody knows
    return _classes(folder.parent / f"{folder.name} exported", here, truth, literal or has_registry)


def _classes(
    exported: Path,
    here: NDArray[np.bool_],
    truth: list[NDArray[np.int64]],
    literal: bool,
) -> Classes:
    members = pl.read_parquet(exported / "members.parquet")
    shown = members.join(pl.read_parquet(exported / "values.parquet"), on=["release", "group"])
    shown = shown.select("release", "group", "value", "present", pl.col("person").cast(pl.Int64))
    holders = above = certain = 0
    worst = 0.0
    for value, name in enumerate(NAMES):
        groups: defaultdict[int, dict[int, int]] = defaultdict(dict)
        first: dict[int, int] = {}  # release in which somebody was first published as a holder
        rows = shown.filter(value=name).sort("release").iter_rows()
        for release, group, _, is_present, person in rows:
            groups[person][release] = group
            if is_present and truth[release - 1][person] == value:
                first.setdefault(person, release)
        for until in [RELEASES] if literal else range(1, RELEASES + 1):
            alike = {
                person: (here[person, :until].tobytes(), tuple(own.items()))
                for person, own in groups.items()
            }
            size = Counter(alike.values())
            held = Counter(alike[person] for person in first)
            for person in first if literal else [each for each in first if first[each] == until]:
                share = held[alike[person]] / size[alike[person]]
                holders += 1
                above += share > LIMIT
                certain += share == 1
                worst = max(worst, share)
    return Classes(holders, above, certain, worst)


LEAKS: dict[str, Callable[[int, Path], Told]] = {
    "suppression": suppression,
    "minimality": minimality,
    "digests": digests,
    "persistence": persistence,
}
