"""A few seeds of what `make leaks` tries for a hundred."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaks.leaks import digests, in_classes, minimality, suppression


def test_nobody_is_told_by_a_missing_record(tmp_path: Path) -> None:
    found = suppression(1, tmp_path)
    assert found.told == 0
    assert found.of > 100  # something was published


def test_nobody_of_a_group_is_struck_off(tmp_path: Path) -> None:
    found = minimality(1, tmp_path, people=20)
    assert (found.told, found.of) == (0, 20)


def test_no_table_is_told_from_another(tmp_path: Path) -> None:
    found = digests(1, tmp_path)
    assert found.told == 0
    assert found.of >= 16


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
@pytest.mark.parametrize("has_registry", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_of_nobodys_class_more_than_half_were_holders(
    seed: int, has_registry: bool, form: str, tmp_path: Path
) -> None:
    found = in_classes(seed, tmp_path / "series", 1000, form, has_registry)
    assert found.holders > 10
    assert (found.above, found.certain) == (0, 0)


def test_values_that_last_and_are_called_transient_are_told(tmp_path: Path) -> None:
    """The attack works: it is cohorts that stop it."""
    found = in_classes(1, tmp_path / "series", 1000, "bucketised", False, "transient")
    assert found.certain > found.holders / 2
