"""A sample of ``make fuzz``: odd inputs end with an error of the tree, and in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import in_process, through_command
from fuzz.cases import template


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("fuzz"))


def test_odd_inputs(series: Path) -> None:
    wrong = {seed: in_process.judged(seed, series) for seed in range(10_000, 10_060)}
    assert not {seed: why for seed, why in wrong.items() if why}


@pytest.mark.parametrize("seed", range(20_000, 20_010))
def test_odd_inputs_through_the_command(seed: int, series: Path) -> None:
    assert through_command.judged(seed, series) == ""


@pytest.mark.parametrize("megabytes", [150, 300, 700, 860, 1100, 1500])
def test_a_limit_on_memory_is_an_error_and_nothing_is_out(megabytes: int, series: Path) -> None:
    assert through_command.under_limit(megabytes, series) == ""
