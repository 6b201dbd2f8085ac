"""Figure 5 of the paper: the ratio n/n_s that the geometric strategy asks for the k-th link."""

from __future__ import annotations

from fractions import Fraction

import polars as pl

from serigraph.experiments.studies import LINKS_PLANNED, link_chances, strategies_for
from serigraph.privacy.strategies import Geometric

FACTORS = (3, 5, 10)  # with l = 2
DIVERSITIES = (2, 5, 10)  # with alpha = 5


def ratio_table() -> pl.DataFrame:
    """The ratio by link, for three factors and for three l."""
    curves = {f"alpha = {factor}": (factor, 2) for factor in FACTORS}
    curves |= {f"l = {diversity}": (5, diversity) for diversity in DIVERSITIES}
    rows = []
    for series, (factor, diversity) in curves.items():
        ratios = Geometric(Fraction(factor)).preview(Fraction(1, diversity), LINKS_PLANNED)
        figure = "figure-5a" if series.startswith("alpha") else "figure-5b"
        rows += [
            {"study": figure, "series": series, "link": link, "ratio": ratio}
            for link, ratio in enumerate(ratios, 1)
        ]
    return pl.DataFrame(rows)


def expected_sizes(return_rate: float, threshold: Fraction) -> dict[str, float]:
    """The mean ratio over all links where a j-th link has the chance q^(j-1), by strategy.

    The adaptive strategy is left out: what it asks depends on the series.
    """
    chances = [float(chance) for chance in link_chances(return_rate)]
    sizes = {}
    for name, section in strategies_for(return_rate).items():
        if name == "adaptive":
            continue
        ratios = section.strategy().preview(threshold, len(chances))
        weighted = sum(chance * ratio for chance, ratio in zip(chances, ratios, strict=True))
        sizes[name] = weighted / sum(chances)
    return sizes
