"""Tables whose holders are known, naive releases of them, and ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import serigraph
from serigraph.attacking import ATTACKS, Finding
from serigraph.attacking.reading import Target, releases_target, series_target
from serigraph.attacking.scoring import run
from serigraph.ledger import Series
from serigraph.runtime.randomness import SeededRandomness

NAMES = ("a", "b", "c")
OTHERS = ("flu", "gout", "cold")
POLICY = """version = 1
[person]
id = "id"
type = "integer"
[quasi_identifiers.age]
kind = "numeric"
unique_values = "publish"
[quasi_identifiers.zip]
kind = "numeric"
unique_values = "publish"
[sensitive]
column = "diagnosis"
[protected]
values = ["a", "b", "c"]
unheld = "allow"
[protected.persistence]
default = "{persistence}"
[guarantee]
threshold = "1/2"
adversary = "{adversary}"
known_members = {known}
minimum_group_size = {minimum}
[strategy]
name = "{strategy}"
releases = 3
[output]
form = "{form}"
groups = "{groups}"
method = "{method}"
files = ["csv"]
"""


@dataclass(frozen=True)
class Tables:
    """A registry, and the table of each release."""

    registry: pl.DataFrame
    releases: tuple[pl.DataFrame, ...]


def tables(
    seed: int,
    *,
    people: int = 900,
    releases: int = 3,
    keeps: float = 1.0,
    returns: float = 0.8,
    holder_returns: float | None = None,
    share: float = 0.08,
    correlated: bool = False,
    others_last: bool = False,
) -> Tables:
    """Values are kept with the chance ``keeps``, people come back with ``returns``. If
    ``correlated``, the young third hold nearly all values; ids say nothing of ages."""
    draw = np.random.default_rng(seed)
    age, code = draw.permutation(people), draw.integers(0, 1000, people)
    chance = np.full(people, share)
    if correlated:
        chance = np.where(age < people / 3, 2.7 * share, 0.15 * share)
    held = np.where(draw.random(people) < chance, draw.integers(0, len(NAMES), people), -1)
    other = draw.integers(0, len(OTHERS), people)
    registry = pl.DataFrame({"id": np.arange(people), "age": age, "zip": code})
    found = []
    for _ in range(releases):
        if not others_last:
            other = draw.integers(0, len(OTHERS), people)
        values = np.where(held >= 0, np.array(NAMES)[held], np.array(OTHERS)[other])
        coming = np.where(held >= 0, returns if holder_returns is None else holder_returns, returns)
        here = pl.Series(draw.random(people) < coming)
        found.append(registry.with_columns(diagnosis=pl.Series(values)).filter(here))
        new = np.where(draw.random(people) < chance, draw.integers(0, len(NAMES), people), -1)
        held = np.where(draw.random(people) < keeps, held, new)
    return Tables(registry, tuple(found))


Cut = Callable[[pl.DataFrame], NDArray[np.int64]]
"""The group of each row of a table."""


def blocks(size: int) -> Cut:
    """Neighbours in age, so many a group: no two regions overlap."""

    def cut(table: pl.DataFrame) -> NDArray[np.int64]:
        rank = table["age"].rank("ordinal").to_numpy().astype(np.int64) - 1
        return np.minimum(rank // size, max(len(rank) // size - 1, 0))

    return cut


def decades(table: pl.DataFrame) -> NDArray[np.int64]:
    """Ten ages a group, the same in each release."""
    return table["age"].to_numpy() // 10


def scattered(size: int) -> Cut:
    """People of the whole table, so many a group; for the bucketised form."""

    def cut(table: pl.DataFrame) -> NDArray[np.int64]:
        return np.random.default_rng(3).permutation(table.height) // size

    return cut


def one_holder_after_the_other(size: int) -> Cut:
    """Each holder in the order of the table with others who are drawn, and then the rest."""

    def cut(table: pl.DataFrame) -> NDArray[np.int64]:
        holds = table["diagnosis"].is_in(NAMES).to_numpy()
        others = np.random.default_rng(3).permutation(np.flatnonzero(~holds))
        found = np.empty(table.height, dtype=np.int64)
        found[holds] = np.arange(holds.sum())
        found[others] = np.arange(len(others)) // (size - 1)
        return found

    return cut


def around_holders(size: int) -> Cut:
    """Each holder in the middle of a group of neighbours in age, the rest alone."""
    return _with_holders(size, size // 2)


def beside_holders(size: int) -> Cut:
    """Each holder at the end of a group of neighbours in age, the rest alone."""
    return _with_holders(size, 0)


def _with_holders(size: int, before: int) -> Cut:
    def cut(table: pl.DataFrame) -> NDArray[np.int64]:
        by_age = table["age"].arg_sort().to_numpy()
        holds = table["diagnosis"].is_in(NAMES).to_numpy()[by_age]
        group = np.full(len(by_age), -1, dtype=np.int64)
        for at in np.flatnonzero(holds).tolist():
            first, last = at - before, at - before + size
            if first >= 0 and last <= len(by_age) and (group[first:last] < 0).all():
                group[first:last] = at
        alone = np.flatnonzero(group < 0)
        group[alone] = len(by_age) + alone
        found = np.empty(len(by_age), dtype=np.int64)
        found[by_age] = group
        return found

    return cut


def naive(
    table: pl.DataFrame,
    cut: Cut,
    *,
    shuffled: bool = True,
    suppressed: Sequence[str] = (),
    in_two: bool = False,
) -> pl.DataFrame | tuple[pl.DataFrame, pl.DataFrame]:
    """A release as it is often made: regions of groups, every row with its value, and no row for
    what is to be suppressed. Groups that overlap are published ``in_two`` tables."""
    shown = table.with_columns(group=pl.Series(cut(table)))
    if suppressed:
        shown = shown.filter(~pl.col("diagnosis").is_in(suppressed))
    if shuffled:
        shown = shown.sample(fraction=1, shuffle=True, seed=1)
    if in_two:
        held = shown.group_by("group", "diagnosis").len("count")
        return shown.select("age", "zip", "group"), held.rename({"diagnosis": "value"})
    return shown.select(
        *(
            pl.format(
                "[{}-{}]", pl.col(name).min().over("group"), pl.col(name).max().over("group")
            ).alias(name)
            for name in ("age", "zip")
        ),
        "diagnosis",
    )


def policy(
    folder: Path,
    *,
    persistence: str = "transient",
    adversary: str = "presence known",
    known: int = 0,
    minimum: int = 1,
    form: str = "generalised",
    groups: str = "",
    method: str = "top-down",
    strategy: str = "constant",
) -> Path:
    path = folder / "policy.toml"
    path.write_text(
        POLICY.format(
            persistence=persistence,
            adversary=adversary,
            known=known,
            minimum=minimum,
            form=form,
            groups=groups or ("regions" if form == "generalised" else "interleaved"),
            method=method,
            strategy=strategy,
        )
    )
    return path


def naive_target(
    folder: Path, made: Tables, cut: Cut, *, minimum: int = 1, **how: bool | Sequence[str]
) -> Target:
    folder.mkdir(parents=True, exist_ok=True)
    releases = [naive(each, cut, **how) for each in made.releases]  # type: ignore[arg-type]
    rules = policy(folder, minimum=minimum)
    return releases_target(releases, rules, made.releases, None, np.random.default_rng(5))


def ours(folder: Path, made: Tables, *, registry: bool = False, **options: str | int) -> Series:
    folder.mkdir(parents=True, exist_ok=True)
    text = policy(folder, **options).read_bytes()  # type: ignore[arg-type]
    series = Series.create(folder / "series", {"policy.toml": text})
    for number, table in enumerate(made.releases, 1):
        serigraph.publish(
            table,
            series,
            label=f"r{number}",
            registry=made.registry if registry else None,
            randomness=SeededRandomness(number),
            new_people=True,
        )
    return series


def our_target(series: Series, made: Tables) -> Target:
    return series_target(series, made.releases, made.registry, np.random.default_rng(5))


def found(target: Target, name: str, seed: int = 7) -> Finding:
    attack = next(each for each in ATTACKS if each.name == name)
    return run(attack, target.evidence, target.truth, np.random.default_rng(seed))
