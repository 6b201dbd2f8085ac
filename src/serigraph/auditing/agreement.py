"""Whether the published files and the ledger agree.

The ledger has people and groups, the files have regions and values. Both have the composition of
every group: how many records it has, and how many of them hold each protected value. A generalised
release does not number its groups, so compositions are compared as a whole; a bucketised release
does, and is compared group by group.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import COHORTS, GROUPS, VALUES, has_part, read_part
from serigraph.policy.classes import ProtectedClasses
from serigraph.recoding.output import DIALECT, as_meant
from serigraph.recoding.records import COLUMN
from serigraph.recoding.tables import COUNT, GROUP, VALUE
from serigraph.tables import ProtectedChoice, read_table
from serigraph.texts import composed, qualifier

MISSING = "a table of the release is missing"
_ROWS = "rows"
_APART = [GROUP, COLUMN, VALUE, COUNT]


@dataclass(frozen=True)
class Agreement:
    """The comparison of one release; ``differences`` is empty if files and ledger agree."""

    release: int
    label: str
    groups: int
    records: int
    differences: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return not self.differences

    def with_differences(self, more: Sequence[str]) -> Agreement:
        """The same with what else was found."""
        return replace(self, differences=(*self.differences, *more))


def compare_files(series: Series, release: ReleaseRecord, folder: Path | None = None) -> Agreement:
    """Compare the public files of a release with its parts of the ledger, group by group. They lie
    in ``folder`` if the release is not published yet."""
    layout = Layout(series.path)
    folder = folder or layout.published(release.label)
    groups = read_part(layout, release, GROUPS)
    values = read_part(layout, release, VALUES).with_columns(pl.col("value").cast(pl.String))
    found = release.tables(folder)
    sets = columns_of_sets(release, list(found))
    tables = [_read(files, sets) for files in found.values()]
    if not tables:
        differences = [MISSING]
    elif len(tables) == 1:
        shown = shown_compositions(tables[0], release)
        # A cohort in which nobody is present has no row.
        kept = kept_compositions(groups.filter(pl.col("present") > 0), values)
        differences = generalised_differences(compared_compositions(shown, kept))
        if differences and has_part(release, COHORTS):
            differences = _merged_differences(tables[0], groups, values, release)
    else:
        shown_sizes, shown_values = shown_groups(tables[0], _counted(tables[1], release))
        kept_sizes, kept_values = kept_groups(groups, values, release)
        wrong_sizes, wrong = compared_groups(
            shown_sizes, shown_values, kept_sizes, kept_values, release
        )
        wrong_sizes += _other_records(tables[1], groups, release)
        differences = bucketised_differences((wrong_sizes, wrong))
    return Agreement(
        release=release.number,
        label=release.label,
        groups=groups.height,
        records=int(groups["present"].sum()),
        differences=tuple(differences),
    )


def _read(files: Sequence[Path], sets: Collection[str]) -> pl.DataFrame:
    table = pl.concat([read_table(file, DIALECT) for file in files])
    return as_meant(table, sets) if files[0].suffix == ".csv" else table


def columns_of_sets(release: ReleaseRecord, tables: Sequence[str]) -> tuple[str, ...]:
    """The columns that hold sets of values. A bucketised release has some only if it shows
    records."""
    if len(tables) > 1 and not release.shows_records:
        return ()
    return tuple(name for name, form in release.sensitive_columns.items() if form != "single")


def _counted(held: pl.DataFrame, release: ReleaseRecord) -> pl.DataFrame:
    """How often each group holds each value, of the second table of a bucketised release."""
    if not release.shows_records:
        return held
    if held.columns == _APART:
        own = held.filter(pl.col(COLUMN).is_in(list(release.sensitive_columns)))
        if not release.has_several_columns:
            return own
        before = {name: qualifier(name) for name in release.sensitive_columns}
        column = pl.col(COLUMN).cast(pl.String).replace(before)
        return own.with_columns(pl.concat_str(column, pl.col(VALUE).cast(pl.String)).alias(VALUE))
    rows = pl.DataFrame({GROUP: held[GROUP], VALUE: record_sets(held, release)})
    return rows.explode(VALUE).drop_nulls().group_by(GROUP, VALUE).len(COUNT)


def _other_records(held: pl.DataFrame, groups: pl.DataFrame, release: ReleaseRecord) -> int:
    """How many groups have another number of records than in the ledger, if records are shown."""
    if not release.shows_records or held.columns == _APART:
        return 0
    shown = held.group_by(pl.col(GROUP).cast(pl.Int64).alias("group")).len("n")
    kept = groups.select(pl.col("group").cast(pl.Int64), pl.col("present").alias("n"))
    kept = kept.filter(pl.col("n") > 0)  # a cohort in which nobody is present has no row
    return _unequal(shown.cast({"n": pl.Int64}), kept.cast({"n": pl.Int64}), ["group"], "n")


def record_sets(table: pl.DataFrame, release: ReleaseRecord) -> pl.Series:
    """The values of each row, of all sensitive columns, as a list."""
    sets = {name: _sets(table[name]) for name in release.sensitive_columns}
    if not release.has_several_columns:
        return next(iter(sets.values()))
    named = [(pl.lit(qualifier(name)) + pl.element()).alias(name) for name in sets]
    listed = pl.DataFrame(
        {
            name: each.cast(pl.List(pl.String)).list.eval(value)
            for (name, each), value in zip(sets.items(), named, strict=True)
        }
    )
    return listed.select(pl.concat_list(pl.all().fill_null([]))).to_series()


def shown_compositions(table: pl.DataFrame, release: ReleaseRecord) -> pl.DataFrame:
    """The number of regions of a generalised table with each composition."""
    region, held = _regions(table, release)
    return _compositions(region.group_by("region").len(_ROWS), held, "region")


def _regions(table: pl.DataFrame, release: ReleaseRecord) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The region of each row, and how many rows of each region hold each protected value."""
    # A row of nulls only would be dropped by no grouping; equal regions get equal numbers.
    cells = table.select(*release.policy["quasi_identifiers"])
    region = cells.select(pl.struct(pl.all()).rank("dense").alias("region"))
    return region, _held(region["region"], record_sets(table, release), release)


def kept_compositions(groups: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """The number of groups of the ledger with each composition."""
    return _compositions(
        groups.select("group", pl.col("present").alias(_ROWS)),
        values.select("group", "value", "count"),
        "group",
    )


def compared_compositions(shown: pl.DataFrame, kept: pl.DataFrame) -> tuple[int, int, int, int]:
    """Regions, groups, regions that have no such group, and groups that have no such region."""
    only_shown, only_kept = _difference(shown, kept)
    return int(shown["groups"].sum()), int(kept["groups"].sum()), only_shown, only_kept


def generalised_differences(compared: tuple[int, int, int, int]) -> list[str]:
    regions, groups, only_shown, only_kept = compared
    problems = []
    if regions != groups:
        problems.append(f"the table shows {regions:,} regions, the ledger has {groups:,} groups")
    if only_shown or only_kept:
        problems.append(
            f"{only_shown:,} regions of the table match no group of the ledger, and {only_kept:,} "
            "groups match no region"
        )
    return problems


def _merged_differences(
    table: pl.DataFrame, groups: pl.DataFrame, values: pl.DataFrame, release: ReleaseRecord
) -> list[str]:
    """Cohorts may lie in the same region, and the table shows them as one. The ledger does not know
    regions, so that what is compared is sums."""
    region, held = _regions(table, release)
    regions = region["region"].n_unique()
    problems = []
    if regions > groups.height:
        problems.append(f"the table shows {regions:,} regions of {groups.height:,} groups")
    if region.height != int(groups["present"].sum()):
        problems.append("the table and the ledger have different numbers of records")
    wrong = _unequal(
        held.group_by("value").agg(pl.col("count").cast(pl.Int64).sum()),
        values.group_by("value").agg(pl.col("count").cast(pl.Int64).sum()),
        ["value"],
        "count",
    )
    if wrong:
        problems.append(f"{wrong:,} value counts differ between the table and the ledger")
    return problems


def shown_groups(members: pl.DataFrame, held: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Size of each group, and how often it holds each value, in a bucketised release."""
    sizes = members.group_by(pl.col(GROUP).cast(pl.Int64).alias("group")).len("n")
    of_values = held.select(
        pl.col(GROUP).cast(pl.Int64).alias("group"),
        pl.col(VALUE).cast(pl.String).alias("value"),
        pl.col(COUNT).cast(pl.Int64).alias("n"),
    )
    return sizes.with_columns(pl.col("n").cast(pl.Int64)), of_values


def kept_groups(
    groups: pl.DataFrame, values: pl.DataFrame, release: ReleaseRecord
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same from the ledger."""
    n = pl.col(shown_size(release)).cast(pl.Int64).alias("n")
    return (
        groups.select(pl.col("group").cast(pl.Int64), n),
        values.select(
            pl.col("group").cast(pl.Int64), "value", pl.col("count").cast(pl.Int64).alias("n")
        ),
    )


def shown_size(release: ReleaseRecord) -> str:
    """The column of the ledger that has the members of a group as the adversary sees them, and as a
    bucketised release shows them: where values persist, with those whose records are withheld."""
    is_shown = release.is_presence_known and not has_part(release, COHORTS)
    return "present" if is_shown else "size"


def compared_groups(
    shown_sizes: pl.DataFrame,
    shown_values: pl.DataFrame,
    kept_sizes: pl.DataFrame,
    kept_values: pl.DataFrame,
    release: ReleaseRecord,
) -> tuple[int, int]:
    """Group sizes and value counts that differ."""
    rules = ProtectedClasses(release.policy)
    classes = [name for name in kept_values["value"].unique() if name in rules]
    choice = ProtectedChoice.from_json(release.protected_json)
    shown_values = shown_values.with_columns(composed(shown_values["value"]))
    covered = [each for each in shown_values["value"].unique() if choice.covers(each)]
    wrong = _unequal(
        shown_values.filter(pl.col("value").is_in(covered)),
        kept_values.filter(~pl.col("value").is_in(classes)),
        ["group", "value"],
        "n",
    )
    wrong += _classes_out_of_bounds(release, shown_values, kept_values)
    return _unequal(shown_sizes, kept_sizes, ["group"], "n"), wrong


def bucketised_differences(compared: tuple[int, int]) -> list[str]:
    wrong_size, wrong = compared
    problems = []
    if wrong_size:
        problems.append(f"{wrong_size:,} group sizes differ between the tables and the ledger")
    if wrong:
        problems.append(f"{wrong:,} value counts differ between the tables and the ledger")
    return problems


def _classes_out_of_bounds(release: ReleaseRecord, shown: pl.DataFrame, kept: pl.DataFrame) -> int:
    """A person may hold several values of a class: its count lies between their largest and sum."""
    rules = ProtectedClasses(release.policy)
    pairs = rules.counted_as(shown["value"].unique().to_list())
    counted_as = pl.DataFrame(pairs, schema={"value": pl.String, "name": pl.String}, orient="row")
    bounds = (
        shown.join(counted_as, on="value")
        .group_by("group", "name")
        .agg(pl.col("n").max().alias("least"), pl.col("n").sum().alias("most"))
    )
    names = [name for name in kept["value"].unique() if name in rules]
    mine = kept.filter(pl.col("value").is_in(names)).rename({"value": "name", "n": "count"})
    both = bounds.join(mine, on=["group", "name"], how="full", coalesce=True)
    fits = pl.col("count").is_between("least", "most").fill_null(False)
    return int(both.select((~fits).sum()).item())


def _unequal(left: pl.DataFrame, right: pl.DataFrame, keys: list[str], number: str) -> int:
    both = left.join(right, on=keys, how="full", coalesce=True, suffix="_kept")
    return int(both.select(pl.col(number).ne_missing(pl.col(f"{number}_kept")).sum()).item())


def _sets(column: pl.Series) -> pl.Series:
    """The values of each row as a list, even if it has only one."""
    if isinstance(column.dtype, pl.List):
        return column
    return column.cast(pl.String).reshape((-1, 1)).arr.to_list()


def _held(region: pl.Series, sets: pl.Series, release: ReleaseRecord) -> pl.DataFrame:
    """How many records of each region hold each protected value or class."""
    rows = (
        pl.DataFrame({"region": region, "value": sets})
        .with_row_index("row")
        .filter(pl.col("value").list.len() > 0)
        .explode("value")
        .drop_nulls("value")
    )
    rows = rows.with_columns(composed(rows["value"]))
    counted_as = _counted_as(rows["value"].unique().to_list(), release)
    return (
        rows.join(counted_as, on="value")
        .unique(["row", "name"])
        .group_by("region", "name")
        .len("count")
        .rename({"name": "value"})
    )


def _counted_as(values: list[str], release: ReleaseRecord) -> pl.DataFrame:
    choice = ProtectedChoice.from_json(release.protected_json)
    pairs = [(value, value) for value in values if choice.covers(value)]
    pairs += ProtectedClasses(release.policy).counted_as(values)
    return pl.DataFrame(pairs, schema={"value": pl.String, "name": pl.String}, orient="row")


def _compositions(rows: pl.DataFrame, held: pl.DataFrame, key: str) -> pl.DataFrame:
    """The number of groups with each composition, which is written as text."""
    listed = (
        held.with_columns(pl.col("count").cast(pl.Int64), pl.col(key).cast(pl.Int64))
        .sort(key, "value")
        .group_by(key, maintain_order=True)
        .agg(pl.struct("value", "count").alias("held"))
    )
    return (
        rows.with_columns(pl.col(key).cast(pl.Int64))
        .join(listed, on=key, how="left")
        .select(
            (
                pl.col(_ROWS).cast(pl.String)
                + pl.col("held")
                .list.eval(pl.element().struct.json_encode())
                .list.join(",")
                .fill_null("")
            ).alias("composition")
        )
        .group_by("composition")
        .len("groups")
    )


def _difference(shown: pl.DataFrame, kept: pl.DataFrame) -> tuple[int, int]:
    both = shown.join(kept, on="composition", how="full", coalesce=True, suffix="_kept").fill_null(
        0
    )
    more = both["groups"].cast(pl.Int64) - both["groups_kept"].cast(pl.Int64)
    return int(more.clip(0, None).sum()), int((-more).clip(0, None).sum())
