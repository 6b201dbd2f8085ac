"""Cells of the generalised form are cut in two ways; where there are many, some tell which."""

from __future__ import annotations

import numpy as np
import pytest

from grouping.releases import generated, plan
from serigraph.engines import make_release
from serigraph.grouping import Method, forming
from serigraph.population import History
from serigraph.randomness import SeededRandomness

PEOPLE = 20_000  # some cells of 8,192 at the most


def width(method: Method) -> float:
    population = generated("clustered", "frequent", PEOPLE, np.random.default_rng(1))
    # What is made has been verified.
    made = make_release(
        population, History.none(PEOPLE), plan("generalised", method), SeededRandomness(1)
    )
    return sum(made.widths.values())


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
def test_whoever_is_cut_in_one_way_is_cut_wider_or_the_same(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_both = width(method)
    monkeypatch.setattr(forming, "TRIED", 1)
    in_one = width(method)
    assert in_both < in_one < 1.1 * in_both
