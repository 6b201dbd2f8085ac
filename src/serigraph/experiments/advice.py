"""Which strategy to choose when, read off the comparison of strategies."""

from __future__ import annotations

import polars as pl

CONSTANT, GEOMETRIC = "constant, re-planned", "geometric, re-planned"
OPTIMAL, ADAPTIVE = "optimal for the rate, re-planned", "adaptive"
RE_PLANNED = {
    "constant, as planned": CONSTANT,
    "geometric, as planned": GEOMETRIC,
    "optimal for the rate, as planned": OPTIMAL,
}


def advice(strategies: pl.DataFrame) -> list[str]:
    """Sentences for a publisher; every figure in them is from the table."""
    size = {(row["return_rate"], row["strategy"]): row for row in strategies.to_dicts()}
    rates = sorted({rate for rate, _ in size})
    return [
        _geometric(size, rates),
        _constant(size, rates),
        _optimal(size, rates),
        _adaptive(size, rates),
        _replanning(size, rates),
    ]


_Sizes = dict[tuple[float, str], dict[str, float]]


def _geometric(size: _Sizes, rates: list[float]) -> str:
    good = [
        rate
        for rate in rates
        if size[rate, GEOMETRIC]["mean_size"] < size[rate, CONSTANT]["mean_size"]
        and size[rate, GEOMETRIC]["suppressed_share"] == 0
    ]
    if not good:
        return "Geometric: at none of these rates were its groups smaller without suppression."
    rate = good[-1]
    return (
        f"Geometric (factor 2): {_smallest(size, rates, GEOMETRIC)}. Up to a return rate of "
        f"{rate:.0%} its groups were smaller than the constant ratio's (at {rate:.0%} they had "
        f"{size[rate, GEOMETRIC]['mean_size']:.1f} people on average, and "
        f"{size[rate, CONSTANT]['mean_size']:.1f} with the constant ratio) and "
        "nothing had to be suppressed; and it needs no end of the series."
    )


def _constant(size: _Sizes, rates: list[float]) -> str:
    broken = [rate for rate in rates if size[rate, GEOMETRIC]["suppressed_share"] > 0]
    suppressed = [rate for rate in rates if size[rate, CONSTANT]["suppressed_share"] > 0]
    smallest = min(size[rate, CONSTANT]["mean_size"] for rate in rates)
    largest = max(size[rate, CONSTANT]["mean_size"] for rate in rates)
    text = (
        f"Constant: {_smallest(size, rates, CONSTANT)}. Choose it where groups should be of about "
        "the same size in all releases, and the number of releases is known. Its groups "
        f"had {smallest:.1f} to {largest:.1f} people at all rates"
    )
    text += (
        ", and nothing was suppressed"
        if not suppressed
        else f", with suppression at {_listed(suppressed)}"
    )
    if broken:
        first = int(size[broken[0], GEOMETRIC]["first_round_with_suppression"])
        text += (
            f". The geometric strategy ran out of people at {broken[0]:.0%} in round {first}"
            " already"
        )
    return text + "."


def _optimal(size: _Sizes, rates: list[float]) -> str:
    kept = [rate for rate in rates if size[rate, OPTIMAL]["suppressed_share"] == 0]
    return (
        "Optimal schedule, by the return rate that is known from the past (link_chances in the "
        f"policy): {_smallest(size, rates, OPTIMAL)}, and nothing was suppressed at {len(kept)} of "
        f"{len(rates)} rates."
    )


def _adaptive(size: _Sizes, rates: list[float]) -> str:
    bad = [rate for rate in rates if size[rate, ADAPTIVE]["suppressed_share"] > 0]
    text = (
        f"Adaptive, which is the default: {_smallest(size, rates, ADAPTIVE)}. It learns from every "
        "release how often people are linked again, and keeps enough back for further links"
    )
    if bad:
        return (
            f"{text}; at {_listed(bad)} it had spent too much when people kept coming back, and "
            "values were suppressed."
        )
    return f"{text}; at these rates that did not lead to suppression."


def _smallest(size: _Sizes, rates: list[float], name: str) -> str:
    """At which rates a strategy had the smallest groups, to a tenth of a person, of all that
    suppressed nothing."""
    best = [
        rate
        for rate in rates
        if not size[rate, name]["suppressed_share"]
        and all(
            round(size[rate, name]["mean_size"], 1) <= round(size[rate, other]["mean_size"], 1)
            for other in (CONSTANT, GEOMETRIC, OPTIMAL, ADAPTIVE)
            if not size[rate, other]["suppressed_share"]
        )
    ]
    if not best:
        return "at none of these rates did it have the smallest groups"
    return f"it had the smallest groups at {_listed(best)}"


def _listed(rates: list[float]) -> str:
    return ", ".join(f"{rate:.0%}" for rate in rates)


def _replanning(size: _Sizes, rates: list[float]) -> str:
    savings = [
        1 - size[rate, after]["mean_size"] / size[rate, before]["mean_size"]
        for rate in rates
        for before, after in RE_PLANNED.items()
    ]
    return (
        "Re-planning: leave it on. It uses what rounding left over; groups were "
        f"{sum(savings) / len(savings):.1%} smaller on average, and {max(savings):.0%} at best."
    )
