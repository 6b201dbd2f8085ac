"""What the forming of groups is told of the past may be wrong: nothing wrong is committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import serigraph
from ledger.builders import shape_on_disk
from serigraph.errors import GuaranteeExceeded, LedgerDamaged
from serigraph.ledger import encoding, writer
from serigraph.model import Past
from verification.series import ANN, FIRST, NEXT, OTHERS, PROTECTED, SIX, XENIA, new_series

publish = partial(serigraph.publish, new_people=True)


Recall = Callable[[pl.Series, Sequence[str]], Past]


def without_a_release(recall: Recall, ids: pl.Series, names: Sequence[str]) -> Past:
    past = recall(ids, names)
    return replace(past, group=np.hstack([np.full_like(past.group[:, :1], -1), past.group[:, 1:]]))


def without_a_person(recall: Recall, ids: pl.Series, names: Sequence[str]) -> Past:
    return recall(ids.replace(ANN, "nobody"), names)


def without_a_value(recall: Recall, ids: pl.Series, names: Sequence[str]) -> Past:
    return recall(ids, ["something else" for _ in names])


def with_two_swapped(recall: Recall, ids: pl.Series, names: Sequence[str]) -> Past:
    return recall(ids.replace([ANN, XENIA], [XENIA, ANN]), names)


def without_anybody(_recall: Recall, ids: pl.Series, _names: Sequence[str]) -> Past:
    return Past.none(len(ids))


@pytest.mark.parametrize(
    ("change", "form"),
    [
        (without_a_release, "generalised"),
        (without_a_person, "generalised"),
        (without_a_value, "generalised"),
        (without_anybody, "generalised"),
        (with_two_swapped, "bucketised"),
    ],
)
def test_a_wrong_past_is_found_before_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any], form: str
) -> None:
    series = new_series(tmp_path / "series", form)
    publish(FIRST, series, label="first")
    publish(OTHERS, series, label="others")
    recall = writer.recall_past

    def changed(layout: Any, releases: Any, ids: Any, names: Any, *rest: Any) -> Any:
        numbers, _ = recall(layout, releases, ids, names, *rest)
        again = lambda ids, names: recall(layout, releases, ids, names, *rest)[1]  # noqa: E731
        return numbers, change(again, ids, names)

    before = shape_on_disk(series.path)
    with monkeypatch.context() as patched:
        patched.setattr(writer, "recall_past", changed)
        with pytest.raises(GuaranteeExceeded, match="breach probability would be"):
            publish(NEXT, series, label="next")
    assert shape_on_disk(series.path) == before
    made = publish(NEXT, series, label="next")  # what is recalled truly is published
    assert Fraction(made.record.summary["largest_probability"]) <= Fraction(1, 2)


Column = NDArray[np.int64]


def larger(group: Column, size: Column, present: Column, excluded: Column) -> tuple[Column, ...]:
    return group, 10 * size, 10 * present, excluded


def with_more_people(
    group: Column, size: Column, present: Column, excluded: Column
) -> tuple[Column, ...]:
    return group, size + 1, present, excluded


@pytest.mark.parametrize("change", [larger, with_more_people])
def test_a_wrong_size_with_a_right_digest_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]
) -> None:
    encode = encoding.encode_groups
    series = new_series(tmp_path / "series")
    with monkeypatch.context() as patched:
        patched.setattr(encoding, "encode_groups", lambda *columns: encode(*change(*columns)))
        publish(FIRST, series, label="first")
    before = shape_on_disk(series.path)
    with pytest.raises(LedgerDamaged, match="ledger/0001/groups"):
        publish(NEXT, series, label="next")
    assert shape_on_disk(series.path) == before


def without_the_value(group: Column, value: pl.Series, count: Column) -> tuple[Any, ...]:
    kept = value.cast(pl.String) != PROTECTED
    return group[kept.to_numpy()], value.filter(kept), count[kept.to_numpy()]


def with_fewer_holders(group: Column, value: pl.Series, count: Column) -> tuple[Any, ...]:
    return group, value, -(-count // 2)


@pytest.mark.parametrize("change", [without_the_value, with_fewer_holders])
def test_a_wrong_count_with_a_right_digest_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]
) -> None:
    """Two of six held the value, so that the next group, of two, would have p = 2/3."""
    encode = encoding.encode_values
    series = new_series(tmp_path / "series")
    with monkeypatch.context() as patched:
        patched.setattr(encoding, "encode_values", lambda *columns: encode(*change(*columns)))
        publish(SIX, series, label="first")
    before = shape_on_disk(series.path)
    with pytest.raises(LedgerDamaged, match="ledger/0001/holders"):
        publish(NEXT, series, label="next")
    assert shape_on_disk(series.path) == before
