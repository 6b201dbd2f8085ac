"""Audit and export on Spark say what they say on one machine."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import serigraph
from audit.series_examples import published
from serigraph.auditing import Audit, Figures, audit_series
from serigraph.auditing.agreement import compare_files
from serigraph.engines.spark.agreement import compare_on_spark
from serigraph.errors import LedgerDamaged
from serigraph.ledger import Series
from serigraph.ledger.layout import Layout
from serigraph.privacy import breach_probability

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.parametrize("spark", ["local[2]"], indirect=True),
    pytest.mark.usefixtures("spark"),
]


@pytest.fixture(
    scope="module", params=["generalised", pytest.param("bucketised", marks=pytest.mark.thorough)]
)
def series(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Series:
    known = "presence known" if request.param == "bucketised" else "presence unknown"
    # A folder whose name Spark could take for a pattern.
    folder = tmp_path_factory.mktemp("series") / "clinic {new} [1], 50%"
    return published(folder, form=request.param, adversary=known)


def same(found: Figures, expected: Figures) -> None:
    assert found.mean == pytest.approx(expected.mean)
    assert replace(found, mean=expected.mean) == expected


def agree(found: Audit, expected: Audit) -> None:
    for mine, theirs in zip(found.releases, expected.releases, strict=True):
        assert (mine.label, mine.people) == (theirs.label, theirs.people)
        same(mine.localised, theirs.localised)
        same(mine.so_far, theirs.so_far)
    same(found.over_all, expected.over_all)
    for ours, other in zip(found.assumptions, expected.assumptions, strict=True):
        assert ours.name == other.name
        same(ours.figures, other.figures)
    assert (found.people, found.threshold) == (expected.people, expected.threshold)
    assert found.agreement == expected.agreement


def test_an_audit_says_the_same(series: Series) -> None:
    here = audit_series(series, known_members=2, worst=5)
    there = audit_series(series, known_members=2, worst=5, engine=serigraph.Spark())
    agree(there.audit, here.audit)
    assert there.audit.is_within
    assert there.audit.files_agree
    assert there.audit.over_all.pairs > 100, "the example must be worth an audit"
    # Which of several pairs that are equally bad are shown is not defined.
    assert [breach_probability(each.exposures) for each in there.audit.worst] == [
        breach_probability(each.exposures) for each in here.audit.worst
    ]
    assert set(there.pseudonyms.values()) <= set(series.people()["id"])


def test_an_export_holds_the_same_rows(series: Series, tmp_path: Path) -> None:
    serigraph.export(series, tmp_path / "here")
    serigraph.export(series, tmp_path / "there", engine=serigraph.Spark())
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == [
        "classes.parquet",
        "groups.parquet",
        "members.parquet",
        "releases.parquet",
        "thresholds.parquet",
        "values.parquet",
    ]
    for path in (tmp_path / "here").iterdir():
        here, there = pl.read_parquet(path), pl.read_parquet(tmp_path / "there" / path.name)
        assert_frame_equal(there, here, check_row_order=False)


def test_files_that_say_something_else(series: Series, tmp_path: Path, spark: SparkSession) -> None:
    copy = Series(shutil.copytree(series.path, tmp_path / "copy"))
    releases = copy.releases()
    for folder in (copy.path / "releases").iterdir():
        for path in (folder / "table.parquet", folder / "sensitive.parquet"):
            if path.exists():
                table = pl.read_parquet(path, glob=False)
                more = pl.col("count") + 1 if "count" in table.columns else pl.col("age")
                table.with_columns(more).slice(2).write_parquet(path)
    found = compare_on_spark(spark, Layout(copy.path), releases)
    assert found == tuple(compare_files(copy, release) for release in releases)
    assert not any(each.agrees for each in found)


def test_parts_that_were_changed(series: Series, tmp_path: Path) -> None:
    copy = Series(shutil.copytree(series.path, tmp_path / "copy"))
    changed = next((copy.path / "ledger/0002").glob("values*.parquet"))
    before = changed.read_bytes()
    changed.write_bytes(before[:-1] + b"?")
    with pytest.raises(LedgerDamaged, match="ledger/0002/values"):
        audit_series(copy, engine=serigraph.Spark())
    with pytest.raises(LedgerDamaged, match="ledger/0002/values"):
        serigraph.export(copy, tmp_path / "there", engine=serigraph.Spark())
    assert list((tmp_path / "there").iterdir()) == []
    changed.unlink()
    with pytest.raises(LedgerDamaged, match=r"missing.*ledger/0002/values"):
        audit_series(copy, engine=serigraph.Spark())
