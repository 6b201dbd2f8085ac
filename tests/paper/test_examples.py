"""The paper's examples and the corrected tables, read from the data files beside this one."""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest

from serigraph.errors import Infeasible
from serigraph.privacy import (
    ConstantRatio,
    Geometric,
    boole_bound,
    breach_probability,
    is_within_guarantee,
    localised_probability,
    minimum_ratio,
    parse_threshold,
    smallest_constant_size,
    smallest_size,
    survival,
    worlds_of_series,
)
from serigraph.records import Exposure

Example = dict[str, Any]
HERE = Path(__file__).parent


def data(name: str) -> Example:
    return tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))


def cases(name: str, key: str = "example") -> list[Any]:
    examples: list[Example] = data(name)[key]
    return [pytest.param(example, id=example.get("name", example["where"])) for example in examples]


def exposures_of(example: Example) -> list[Exposure]:
    return [Exposure(size, count) for size, count in example["exposures"]]


@pytest.mark.parametrize("example", cases("breach_probability"))
def test_breach_probability(example: Example) -> None:
    exposures = exposures_of(example)
    threshold = parse_threshold(example["threshold"])
    localised = [localised_probability(exposures, j + 1) for j in range(len(exposures))]
    assert breach_probability(exposures) == Fraction(example["probability"])
    assert is_within_guarantee(exposures, threshold) is example["is_within_guarantee"]
    assert localised == [Fraction(share) for share in example["localised"]]


@pytest.mark.parametrize("example", cases("minimum_ratio"))
def test_minimum_ratio(example: Example) -> None:
    ratio = minimum_ratio(parse_threshold(example["threshold"]), survival(exposures_of(example)))
    if example["ratio"] == "inf":
        assert ratio == math.inf
        with pytest.raises(Infeasible):
            smallest_size(ratio)
    else:
        assert ratio == Fraction(example["ratio"])
    for count, size in example["sizes"].items():
        assert smallest_size(ratio, int(count)) == size


@pytest.mark.parametrize("example", cases("worlds"))
def test_worlds(example: Example) -> None:
    assert worlds_of_series(example["groups"]) == example["worlds"]
    differs = example["printed"] != example["worlds"]
    as_if_all_differed = math.prod(math.factorial(sum(counts)) for counts in example["groups"])
    assert not differs or example["printed"] == as_if_all_differed


@pytest.mark.parametrize("example", cases("constant_ratio"))
def test_constant_ratio(example: Example) -> None:
    threshold, releases = parse_threshold(example["l"]), example["releases"]
    ratio = ConstantRatio(releases, replan=False).ratio(threshold, 0, Fraction(1))
    size = smallest_constant_size(threshold, releases)
    assert f"{ratio:.4f}" == example["exact"]
    assert size == example["size"] == math.ceil(ratio)
    reached = breach_probability([Exposure(size, 1)] * releases)
    assert f"{float(reached):.4f}" == example["probability_at_size"]
    assert reached <= threshold


@pytest.mark.parametrize("example", cases("constant_ratio"))
def test_rounding_the_constant_ratio_down_breaks_the_guarantee(example: Example) -> None:
    rounded_down = [Exposure(example["size"] - 1, 1)] * example["releases"]
    assert not is_within_guarantee(rounded_down, parse_threshold(example["l"]))


@pytest.mark.parametrize("example", cases("constant_ratio"))
def test_the_printed_constant_ratio_is_on_the_safe_side(example: Example) -> None:
    printed = Fraction(example["printed"])
    kept = (1 - 1 / printed) ** example["releases"]
    assert kept >= 1 - parse_threshold(example["l"])
    assert abs(printed - Fraction(example["exact"])) < Fraction(17, 100)


@pytest.mark.parametrize("example", cases("schedules", "replanned_constant"))
def test_replanned_constant_ratio(example: Example) -> None:
    threshold, strategy = parse_threshold(example["l"]), ConstantRatio(example["releases"])
    exposures: list[Exposure] = []
    for links in range(example["releases"]):
        size = strategy.smallest_size(threshold, links, survival(exposures))
        exposures.append(Exposure(size, 1))
    assert [exposure.size for exposure in exposures] == example["sizes"]
    assert breach_probability(exposures) == Fraction(example["probability"])


@pytest.mark.parametrize("example", cases("schedules", "geometric"))
def test_geometric(example: Example) -> None:
    threshold, factor = parse_threshold(example["l"]), Fraction(example["factor"])
    ratios = Geometric(factor).preview(threshold, 20)
    assert list(ratios[:5]) == example["first_ratios"]
    assert ratios[19] == example["twentieth"]


@pytest.mark.parametrize("example", cases("schedules", "boole"))
def test_price_of_dependence(example: Example) -> None:
    threshold, releases = parse_threshold(example["l"]), example["releases"]
    size = int(releases / threshold)
    assert boole_bound([Exposure(size, 1)] * releases) == threshold
    constant = ConstantRatio(releases).ratio(threshold, 0, Fraction(1))
    assert round(100 * (size / constant - 1)) == example["percent_larger"]


def test_float_refusals() -> None:
    expected = data("float_refusals")
    sizes = range(expected["smallest_size"], expected["largest_size"] + 1)
    tried = refused = 0
    for diversity in expected["l"]:
        threshold = Fraction(1, diversity)
        for a, b, c in combinations_with_replacement(sizes, 3):
            tried += 1
            if 1 - (1 - 1 / a) * (1 - 1 / b) * (1 - 1 / c) > 1 / diversity:
                triple = (Exposure(a, 1), Exposure(b, 1), Exposure(c, 1))
                refused += is_within_guarantee(triple, threshold)
    assert (tried, refused) == (expected["histories"], expected["wrongly_refused"])
