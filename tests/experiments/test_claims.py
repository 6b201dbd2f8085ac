"""Claims are judged by what the figures show."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from serigraph.experiments.advice import advice
from serigraph.experiments.claims import Claim, repeatable_claims, time_claims
from serigraph.experiments.ratios import ratio_table
from serigraph.experiments.studies import FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9, strategies_for

REMAINS = "largest group size remains"
Curve = Callable[[int, int], float]  # of the series and the round


def releases(curve: Curve, suppressed: float = 0.0) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "study": figure,
                "series": f"s{series}",
                "round": number,
                "error_any_mean": curve(series, number) / 1000,
                "error_protected_mean": curve(series, number) / 100,
                "mean_size_with_protected_value": curve(series, number),
                "largest_size": curve(series, number),
                "suppressed_share": suppressed,
                "seconds": curve(series, number),
            }
            for figure in (FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9)
            for series in (1, 2, 3)
            for number in range(1, 21)
        ]
    )


def judged(curve: Curve, word: str, suppressed: float = 0.0) -> set[bool]:
    found = repeatable_claims(releases(curve, suppressed), ratio_table())
    return {claim.is_seen for claim in found if word in claim.statement}


def test_flat_curves_that_rise_with_the_parameter_are_all_seen() -> None:
    found = repeatable_claims(releases(lambda series, _: 10.0 * series), ratio_table())
    assert all(claim.is_seen for claim in found)
    assert not any(claim.why for claim in found)


@pytest.mark.parametrize(
    ("curve", "is_unchanged"),
    [
        (lambda series, number: 10.0 + number, False),  # rises steadily
        (lambda series, number: 10.0 + 0.05 * number, True),  # hardly
        (lambda series, number: 10.0 + 6 * (-1) ** number, True),  # scatters
        (lambda series, number: 500.0 if number == 18 else 10.0, False),  # stands out
        (lambda series, number: 40.0 - number, False),  # falls
    ],
)
def test_what_nearly_unchanged_means(curve: Curve, is_unchanged: bool) -> None:
    assert judged(curve, "nearly unchanged") == {is_unchanged}


def reasons(curve: Curve, word: str) -> dict[str, str]:
    found = repeatable_claims(releases(curve), ratio_table())
    return {claim.where: claim.why for claim in found if word in claim.statement}


def test_the_reason_fits_the_sign_and_the_strategy() -> None:
    rising = reasons(lambda series, number: 10.0 * series + 2 * number, REMAINS)
    falling = reasons(lambda series, number: 90.0 * series - 4 * number, REMAINS)
    mixed = reasons(lambda series, number: 100.0 + (9 - 6 * series) * number, REMAINS)
    for figure in ("Figure 6", "Figure 8"):
        assert "k' planned times" in rising[figure]
        assert "the same ratio in every round" in falling[figure]
    for figure in ("Figure 7", "Figure 9"):
        assert "Every further link" in rising[figure]
        assert "Ratios only grow" in falling[figure]
    assert all("without a direction in common" in why for why in mixed.values())


def test_a_round_that_stands_out_is_no_trend() -> None:
    """A single large group early in a flat curve, whose line falls for that; and in the mean."""
    early = reasons(lambda series, number: 900.0 if number == 4 else 10.0 * series, REMAINS)
    assert len(early) == 4
    for why in early.values():
        assert why.startswith("Single rounds stand out")
        assert "so the fall" not in why
    as_well = reasons(
        lambda series, number: 900.0 if (series, number) == (1, 4) else 60.0 * series - 2 * number,
        REMAINS,
    )
    assert all("so the fall" in why and "stand out" in why for why in as_well.values())
    in_one = reasons(
        lambda series, number: 900.0 if (series, number) == (2, 4) else 10.0 * series,
        "largest group size increases",
    )
    assert all(why.startswith("Single rounds stand out") for why in in_one.values())


def test_only_the_factor_is_said_to_turn_the_order_round() -> None:
    falling = reasons(lambda series, _: 100.0 - series, "largest group size increases")
    assert "Figure 5 shows where" in falling["Figure 9"]
    assert "leaves pairs that are linked more often" in falling["Figure 8"]
    assert all("differs between the tables" in falling[f"Figure {number}"] for number in (6, 7))


def test_a_parameter_without_effect_is_not_seen() -> None:
    assert judged(lambda series, _: 5.0, "increases with l") == {True, False}  # ratios do rise
    assert judged(lambda series, _: 5.0, "increases with k'") == {False}


def test_suppression_is_told() -> None:
    assert judged(lambda series, _: 5.0, "Suppression") == {True}
    assert judged(lambda series, _: 5.0, "Suppression", suppressed=0.01) == {False}


def test_large_errors_are_told() -> None:
    assert judged(lambda series, _: 900.0, "very small querying error") == {False}


def test_times_are_judged_apart() -> None:
    rising = time_claims(releases(lambda series, _: float(series)))
    trends = {claim.where: claim for claim in rising if "trend" in claim.statement}
    assert not any(claim.is_seen for claim in trends.values())
    mixed = time_claims(releases(lambda series, _: 5.0 - abs(series - 2)))
    assert all(claim.is_seen for claim in mixed if "no consistent trend" in claim.statement)
    assert all(isinstance(claim, Claim) for claim in rising)


def strategy_rows(sizes: dict[str, float], suppressed: dict[str, float]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "return_rate": rate,
                "strategy": name,
                "mean_size": sizes.get(name, 20.0),
                "suppressed_share": suppressed.get(name, 0.0) if rate > 0.5 else 0.0,
                "first_round_with_suppression": 7 if suppressed.get(name) and rate > 0.5 else 0,
            }
            for rate in (0.2, 0.8)
            for name in strategies_for(rate)
        ]
    )


def test_advice_follows_the_table() -> None:
    geometric, constant, optimal, adaptive, replanning = advice(
        strategy_rows(
            {"geometric, re-planned": 6.0, "constant, re-planned": 30.0},
            {"geometric, re-planned": 0.1, "adaptive": 0.2},
        )
    )
    assert "Up to a return rate of 20%" in geometric
    assert "it had the smallest groups at 20%." in geometric
    assert "ran out of people at 80% in round 7" in constant
    assert "it had the smallest groups at 80%, and nothing was suppressed at 2 of 2" in optimal
    assert "at 80% it had spent too much" in adaptive
    assert all("at none of these rates did it" in each for each in (constant, adaptive))
    assert "70% at best" in replanning
    worse = advice(strategy_rows({"geometric, re-planned": 60.0, "adaptive": 20.04}, {}))
    assert "it had the smallest groups at 20%, 80%" in worse[3], "to a tenth of a person"
    assert "at none of these rates" in worse[0]
    assert "nothing was suppressed." in worse[1]
    assert "did not lead to suppression" in worse[3]
