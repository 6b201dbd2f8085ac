"""What tasks are told of the past may be wrong: the verifier's own join finds it out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import serigraph
from ledger.builders import shape_on_disk
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.errors import GuaranteeExceeded, LedgerDamaged
from serigraph.ledger import encoding
from verification.series import ANN, FIRST, NEXT, OTHERS, SIX, XENIA, new_series

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

THOROUGH = pytest.mark.thorough
THIS_MACHINE = pytest.mark.parametrize("spark", ["local[2]"], indirect=True)

publish = partial(serigraph.publish, new_people=True)
on_spark = partial(publish, engine=serigraph.Spark())


def without_a_release(members: DataFrame) -> DataFrame:
    return members.filter(members.was >= 2 << 32)


def without_a_person(members: DataFrame) -> DataFrame:
    return members.filter(members.id != ANN)


def without_anybody(members: DataFrame) -> DataFrame:
    return members.limit(0)


def with_two_swapped(members: DataFrame) -> DataFrame:
    return members.replace({ANN: XENIA, XENIA: ANN}, subset=["id"])


def without_a_count(held: DataFrame) -> DataFrame:
    return held.limit(0)


def with_a_larger_size(held: DataFrame) -> DataFrame:
    return held.withColumn("size", 10 * held.size)


@THIS_MACHINE
@pytest.mark.parametrize(
    ("frame", "change", "form"),
    [
        ("memberships", without_a_person, "generalised"),
        ("compositions", without_a_count, "generalised"),
        pytest.param("memberships", without_a_release, "generalised", marks=THOROUGH),
        pytest.param("memberships", without_anybody, "generalised", marks=THOROUGH),
        pytest.param("memberships", with_two_swapped, "bucketised", marks=THOROUGH),
        pytest.param("compositions", with_a_larger_size, "generalised", marks=THOROUGH),
    ],
)
def test_a_wrong_past_is_found_before_the_commit(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    frame: str,
    change: Callable[[DataFrame], DataFrame],
    form: str,
) -> None:
    series = new_series(tmp_path / "series", form)
    on_spark(FIRST, series, label="first")
    publish(OTHERS, series, label="others")
    recall: Callable[..., Any] = getattr(LedgerFrames, frame)

    def changed(*arguments: Any) -> DataFrame:
        return change(recall(*arguments))

    before = shape_on_disk(series.path)
    with monkeypatch.context() as patched:
        patched.setattr(LedgerFrames, frame, changed)
        with pytest.raises(GuaranteeExceeded, match="breach probability would be"):
            on_spark(NEXT, series, label="next")
    assert shape_on_disk(series.path) == before
    on_spark(NEXT, series, label="next")  # what is recalled truly is published


@THIS_MACHINE
def test_a_wrong_size_with_a_right_digest_is_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = new_series(tmp_path / "series")
    encode = encoding.encode_groups
    with monkeypatch.context() as patched:
        patched.setattr(
            encoding,
            "encode_groups",
            lambda group, size, present, *rest: encode(group, 10 * size, 10 * present, *rest),
        )
        publish(FIRST, series, label="first")
    before = shape_on_disk(series.path)
    with pytest.raises(LedgerDamaged, match="do not have the sizes"):
        on_spark(NEXT, series, label="next")
    assert shape_on_disk(series.path) == before


@THIS_MACHINE
def test_a_wrong_count_with_a_right_digest_is_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = new_series(tmp_path / "series")
    on_spark(FIRST, series, label="first")  # records no holders
    encode = encoding.encode_values
    with monkeypatch.context() as patched:
        patched.setattr(
            encoding, "encode_values", lambda group, value, count: encode(group, value, count // 2)
        )
        publish(SIX.with_columns(pl.col("patient") + "2"), series, label="second")
    before = shape_on_disk(series.path)
    with pytest.raises(LedgerDamaged, match=r"holders of a release .* ledger/0002/holders"):
        on_spark(NEXT, series, label="next")
    assert shape_on_disk(series.path) == before
