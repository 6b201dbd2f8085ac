"""Series whose values persist, with everybody's values known to us: generated ones, a panel that
one person joins, and real people with histories made for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

COLUMNS = 4
PLACES = 100  # values of a generated column


@dataclass(frozen=True)
class Law:
    """How values, people and registry change."""

    keeps: float  # q, the chance to keep a value to the next release
    present: float  # r, the chance to be in a table
    leaves: float  # of the registry, a release; newcomers take their places

    def falls_ill(self, share: float) -> float:
        """The chance to get one of the values between two releases, of those who have none any
        more: their share stays the same."""
        return share * (1 - self.keeps) / (1 - share * self.keeps)


@dataclass(frozen=True)
class Tables:
    """A release before it is published."""

    registry: pl.DataFrame
    table: pl.DataFrame
    held: frozenset[tuple[int, str]]  # people of the table, and protected values that they hold


@dataclass(frozen=True)
class Setting:
    """What a policy says of a series: everything but the persistence and the form."""

    names: Sequence[str] = tuple(f"s{i}" for i in range(5))
    share: float = 0.02  # of the people hold one of these values
    threshold: str = "1/2"
    columns: Mapping[str, str] = field(
        default_factory=lambda: {f"q{i}": "numeric" for i in range(COLUMNS)}
    )
    sets: bool = False  # people may hold several values

    def policy(self, form: str, persistence: str) -> str:
        columns = "".join(
            f'[quasi_identifiers.{name}]\nkind = "{kind}"\nunique_values = "publish"\n'
            for name, kind in self.columns.items()
        )
        return f"""
version = 1
[person]
id = "id"
type = "integer"
{columns}
[sensitive]
column = "value"
form = "{"list" if self.sets else "single"}"
[protected]
values = {list(self.names)}
unheld = "allow"
[protected.persistence]
default = "{persistence}"
[guarantee]
threshold = "{self.threshold}"
[output]
form = "{form}"
files = ["parquet"]
"""


def generated(people: int, law: Law, seed: int, setting: Setting) -> Iterator[Tables]:
    """Release after release of people who are spread evenly."""
    chance = np.random.default_rng(seed)
    names = list(setting.names)
    ids, number = np.arange(people), people
    places = chance.integers(0, PLACES, (people, COLUMNS))
    value = np.where(chance.random(people) < setting.share, chance.integers(0, 5, people), -1)
    for release in itertools.count():  # other values change, so that no table is out already
        registry = pl.DataFrame({"id": ids} | {f"q{c}": places[:, c] for c in range(COLUMNS)})
        here = chance.random(len(ids)) < law.present
        shown = pl.Series([names[v] if v >= 0 else f"other {release}" for v in value[here]])
        held = [(int(i), names[v]) for i, v in zip(ids[here], value[here], strict=True) if v >= 0]
        table = registry.filter(here).with_columns(value=shown)
        yield Tables(registry, table, frozenset(held))
        value = np.where(chance.random(people) < law.keeps, value, -1)
        ill = (value < 0) & (chance.random(people) < law.falls_ill(setting.share))
        value = np.where(ill, chance.integers(0, 5, people), value)
        left = chance.random(people) < law.leaves
        new = int(left.sum())
        draws = np.where(chance.random(new) < setting.share, chance.integers(0, 5, new), -1)
        ids = np.concatenate([ids[~left], np.arange(number, number + new)])
        places = np.concatenate([places[~left], chance.integers(0, PLACES, (new, COLUMNS))])
        value, number = np.concatenate([value[~left], draws]), number + new


def joined_by_one(people: int, seed: int, setting: Setting) -> Iterator[Tables]:
    """A panel in which nothing changes, except that one holder of a value joins every time."""
    panel = next(generated(people, Law(1, 1, 0), seed, setting))
    chance = np.random.default_rng(seed + 1000)
    while True:
        yield panel
        value = str(chance.choice(list(setting.names)))
        new = pl.DataFrame({"id": [panel.registry.height]}).with_columns(
            pl.lit(int(chance.integers(0, PLACES)), pl.Int64).alias(name)
            for name in setting.columns
        )
        panel = Tables(
            pl.concat([panel.registry, new]),
            pl.concat([panel.table, new.with_columns(value=pl.lit(value))]),
            panel.held | {(panel.registry.height, value)},
        )


def with_histories(people: pl.DataFrame, setting: Setting, law: Law, seed: int) -> Iterator[Tables]:
    """Real people, each with the ``value`` that the data give it; a part is in every table.

    Between two releases a value is kept by q; whoever does not keep it takes that of another.
    Those who leave the registry are replaced by real people who were not in it.
    """
    chance = np.random.default_rng(seed)
    inside = chance.permutation(people.height)
    size = round(people.height / 2)
    inside, outside = inside[:size], inside[size:]
    value = people["value"]
    names = set(setting.names)
    while True:
        here = np.sort(inside[chance.random(size) < law.present])
        table = people.with_columns(value=value)[here]
        held = {
            (person, each)
            for person, own in table.select("id", "value").iter_rows()
            for each in (own if setting.sets else [own])
            if each in names
        }
        yield Tables(people.drop("value")[np.sort(inside)], table, frozenset(held))
        source = np.where(
            chance.random(people.height) < law.keeps,
            np.arange(people.height),
            chance.permutation(people.height),
        )
        value = value.gather(source)
        new = min(int(law.leaves * size), len(outside))
        inside = np.concatenate([chance.permutation(inside)[new:], outside[:new]])
        outside = outside[new:]


def adult(folder: Path, people: int, seed: int) -> tuple[pl.DataFrame, Setting]:
    """Every occupation is protected: everybody holds a protected value."""
    columns = {"age": "numeric"} | dict.fromkeys(("sex", "race", "workclass"), "categorical")
    table = pl.read_csv(folder / "adult" / "adult.csv", separator=";")
    table = table.sample(min(2 * people, table.height), seed=seed, shuffle=True)
    table = table.select(*columns, value="occupation").with_row_index("id").cast({"id": pl.Int64})
    names = tuple(table["value"].unique().sort())
    return table, Setting(names=names, columns=columns)


def vaers(folder: Path, people: int, seed: int) -> tuple[pl.DataFrame, Setting]:
    """The reactions that 1 % to 3 % of the people have are protected; people have several."""
    columns = {"age": "numeric", "state": "categorical", "sex": "categorical", "received": "date"}
    reports = pl.read_parquet(folder / "vaers" / "reports.parquet")
    reports = reports.sample(min(2 * people, reports.height), seed=seed, shuffle=True)
    terms = pl.read_parquet(folder / "vaers" / "reactions.parquet").group_by("VAERS_ID")
    table = reports.join(
        terms.agg(pl.col("TERM").unique().sort()), on="VAERS_ID", how="left", maintain_order="left"
    ).select(
        age=pl.col("AGE_YRS").cast(pl.Float64),
        state="STATE",
        sex="SEX",
        received=pl.col("RECVDATE").str.to_date("%m/%d/%Y"),
        value=pl.col("TERM").fill_null([]),
    )
    held = table["value"].explode(empty_as_null=False).value_counts()
    share = pl.col("count") / table.height
    names = held.filter(share.is_between(0.01, 0.03))["value"].sort()
    return (
        table.with_row_index("id").cast({"id": pl.Int64}),
        Setting(names=tuple(names), columns=columns, sets=True),
    )


REAL = {"adult": adult, "vaers": vaers}
