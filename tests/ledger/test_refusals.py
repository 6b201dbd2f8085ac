"""The same thing twice, and what is in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.builders import FIRST, SECOND, new_series, publish, shape_on_disk
from serigraph.errors import AlreadyPublished


def test_the_same_release_twice_says_that_it_is_out(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    before = shape_on_disk(series.path)
    with pytest.raises(AlreadyPublished, match=r"out already - release 1, a - nothing is left"):
        publish(series, "a", FIRST)
    assert shape_on_disk(series.path) == before


@pytest.mark.parametrize("label", ["a", "A"])
def test_a_label_twice(tmp_path: Path, label: str) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    before = shape_on_disk(series.path)
    with pytest.raises(AlreadyPublished, match="for another table"):
        publish(series, label, SECOND, table_digest="another")
    assert shape_on_disk(series.path) == before


def test_something_at_the_place_of_the_release(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    (series.path / "releases" / "a").write_text("a file")
    with pytest.raises(AlreadyPublished, match="releases/a"):
        publish(series, "a", FIRST)
    publish(series, "b", FIRST)
    assert (series.path / "releases" / "a").read_text() == "a file"
