"""What the paper says about its experiments, and whether it was seen here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.experiments.studies import FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9

# A curve is called nearly unchanged if its fitted line moves by less than this share of its mean
# from the second round to the last, or if the slope is not significant and no round stands
# out. The first table has nobody who came back, and is smaller.
NEARLY = 0.25
STANDS_OUT = 3  # times the median

ERROR, SIZE, LARGEST = "error_any_mean", "mean_size_with_protected_value", "largest_size"
SECONDS = "seconds"
_WORDS = {
    ERROR: "average relative error",
    SIZE: "average group size",
    LARGEST: "largest group size",
    SECONDS: "execution time",
}
_FIGURES = {
    FIGURE_6: ("Figure 6", "constant ratio, k' = 3", "l"),
    FIGURE_7: ("Figure 7", "geometric, alpha = 3", "l"),
    FIGURE_8: ("Figure 8", "constant ratio, l = 2", "k'"),
    FIGURE_9: ("Figure 9", "geometric, l = 2", "alpha"),
}

_WHY_RISE = {
    "constant": "A person linked more often than the k' planned times has next to nothing left "
    "of the budget and needs a group of hundreds or thousands of people. Such pairs turn up "
    "after some rounds, and the paper does not say what its series did with them.",
    "geometric": "Every further link of a pair needs a larger group, and the longer the series "
    "is, the more links the most frequent pairs have.",
}
_WHY_FALL = {
    "constant": "The strategy asks for the same ratio in every round, so the fall is one of the "
    "tables: what groups have beyond the ratio, and what queries count, differs between them.",
    "geometric": "Ratios only grow with the links of a pair, so the fall is one of the tables: "
    "what groups have beyond the ratio, and what queries count, differs between them.",
}
_WHY_BOTH = (
    "Some curves rise and some fall, without a direction in common: what groups have beyond the "
    "ratio, and what queries count, differs from table to table."
)
_WHY_STANDS_OUT = (
    "Single rounds stand out, in which a few pairs that had little budget left needed large groups."
)
_WHY_SLOWER = "The history that has to be followed grows by one release per round."
_WHY_UNSTEADY = (
    "The curves have no direction in common: series run beside each other, and beside whatever "
    "else the machine does, and their times vary with that."
)
_WHY_ORDER_TURNS = (
    "The largest group belongs to the pair with the most links. A larger factor asks for "
    "more at the first link, but its ratios grow more slowly, so that the order turns round once "
    "pairs have been linked a few times (Figure 5 shows where)."
)
_WHY_BUDGET_ENDS = (
    "A smaller k' asks for less, but leaves pairs that are linked more often than k' times with "
    "next to nothing, and these need the largest groups."
)


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, what was found, and why where it was not seen."""

    where: str
    statement: str
    is_seen: bool
    found: str
    why: str = ""


def repeatable_claims(releases: pl.DataFrame, ratios: pl.DataFrame) -> list[Claim]:
    """All claims that do not depend on the clock."""
    claims = _ratio_claims(ratios)
    for figure in _FIGURES:
        claims += [_unchanged(releases, figure, measure) for measure in (ERROR, SIZE, LARGEST)]
        claims += [_rising(releases, figure, measure) for measure in (ERROR, SIZE, LARGEST)]
    return [*claims, _no_suppression(releases), _small_error(releases)]


def time_claims(seconds: pl.DataFrame) -> list[Claim]:
    """Claims about execution times; another run may give other answers."""
    claims = [_unchanged(seconds, figure, SECONDS) for figure in _FIGURES]
    claims.append(_rising(seconds, FIGURE_6, SECONDS))
    for figure in (FIGURE_7, FIGURE_8, FIGURE_9):
        rising = _rising(seconds, figure, SECONDS)
        name, _, parameter = _FIGURES[figure]
        claims.append(
            Claim(
                name,
                f"There is no consistent trend of the execution time with {parameter}",
                not rising.is_seen,
                rising.found,
                ""
                if not rising.is_seen
                else "Here the time rose in every step; larger groups "
                "cost more, and there is no saving by fewer groups.",
            )
        )
    return claims


def _ratio_claims(ratios: pl.DataFrame) -> list[Claim]:
    by_factor = _curves(ratios.filter(pl.col("study") == "figure-5a"), "ratio")
    by_diversity = _curves(ratios.filter(pl.col("study") == "figure-5b"), "ratio")
    curves = [*by_factor.values(), *by_diversity.values()]
    first = [curve[0] for curve in by_factor.values()]
    growth = [curve[-1] / curve[0] for curve in by_factor.values()]
    last = [curve[-1] for curve in by_factor.values()]
    low, *others = by_factor.values()
    crossing = [int(np.flatnonzero(low > other)[0]) + 1 for other in others if (low > other).any()]
    shown = ", ".join(f"{name}: {curve[-1]:,.0f}" for name, curve in by_factor.items())
    pairs = zip(*by_diversity.values(), strict=True)
    return [
        Claim(
            "Figure 5",
            "The ratio increases with k",
            all(bool((np.diff(curve) > 0).all()) for curve in curves),
            f"at the last link {shown}",
        ),
        Claim(
            "Figure 5a",
            "With a larger alpha the first ratio is larger and the growth is smaller",
            first == sorted(first) and growth == sorted(growth, reverse=True),
            "first ratios " + ", ".join(f"{each:,.0f}" for each in first),
        ),
        Claim(
            "Figure 5b",
            "The ratio increases with l",
            all(list(ratio) == sorted(ratio) for ratio in pairs),
            "at every link",
        ),
        Claim(
            "Figure 5a",
            "alpha = 5 and 10 are better choices than 3, because the ratio increases more slowly",
            last == sorted(last, reverse=True),
            "only for people linked often: 3 needs less up to link "
            + " and ".join(str(link - 1) for link in crossing),
        ),
    ]


def _unchanged(frame: pl.DataFrame, figure: str, measure: str) -> Claim:
    curves = _curves(frame.filter(pl.col("study") == figure), measure)
    changes = {name: _fitted_change(curve[1:]) for name, curve in curves.items()}
    far = [curve[1:] for name, curve in curves.items() if abs(changes[name]) >= NEARLY]
    moved = [curve for curve in far if _has_trend(curve) or _stands_out(curve)]
    is_seen = not moved
    name, setting, _ = _FIGURES[figure]
    why = _why_not_flat(setting.split()[0].rstrip(","), moved)
    if measure == SECONDS:
        why = _WHY_SLOWER if min(changes.values()) > 0 else _WHY_UNSTEADY
    return Claim(
        name,
        f"The {_WORDS[measure]} remains nearly unchanged as rounds go on ({setting})",
        is_seen,
        "fitted change over the rounds: "
        + ", ".join(f"{name} {change:+.0%}" for name, change in changes.items()),
        "" if is_seen else why,
    )


def _why_not_flat(strategy: str, moved: list[NDArray[np.float64]]) -> str:
    """Why the curves of this strategy that were not flat moved as they did."""
    rises = {_fitted_change(curve) > 0 for curve in moved if _has_trend(curve)}
    trend = {frozenset({True}): _WHY_RISE[strategy], frozenset({False}): _WHY_FALL[strategy]}
    reasons = [trend.get(frozenset(rises), _WHY_BOTH)] if rises else []
    if any(_stands_out(curve) for curve in moved):
        reasons.append(_WHY_STANDS_OUT)
    return " ".join(reasons)


def _rising(frame: pl.DataFrame, figure: str, measure: str) -> Claim:
    curves = _curves(frame.filter(pl.col("study") == figure), measure)
    means = {name: float(curve.mean()) for name, curve in curves.items()}
    values = list(means.values())
    is_seen = all(a < b for a, b in pairwise(values))
    name, setting, parameter = _FIGURES[figure]
    return Claim(
        name,
        f"The {_WORDS[measure]} increases with {parameter} ({setting})",
        is_seen,
        "means over the rounds: "
        + ", ".join(f"{name} {value:,.4g}" for name, value in means.items()),
        "" if is_seen else _why_not_rising(measure, parameter, list(curves.values())),
    )


def _why_not_rising(measure: str, parameter: str, curves: list[NDArray[np.float64]]) -> str:
    falls = curves[-1].mean() < curves[0].mean()
    if measure == LARGEST and falls and parameter == "alpha":
        return _WHY_ORDER_TURNS
    if measure == LARGEST and falls and parameter == "k'":
        return _WHY_BUDGET_ENDS
    if measure != SECONDS and any(_stands_out(curve) for curve in curves):
        return _WHY_STANDS_OUT
    return "The means lie within what differs between the tables of the rounds."


def _no_suppression(releases: pl.DataFrame) -> Claim:
    papers = releases.filter(pl.col("study").is_in(list(_FIGURES)))
    hit = papers.filter(pl.col("suppressed_share") > 0)
    names = hit.select("study", "series").unique(maintain_order=True).rows()
    needed = len(names)
    most = max(hit["suppressed_share"].to_list(), default=0.0)
    return Claim(
        "Section 6.3",
        "Suppression has not been found needed",
        needed == 0,
        f"needed in {needed} of {papers.select('study', 'series').n_unique()} series"
        + "".join(f"; {_FIGURES[study][0]}, {series}" for study, series in names)
        + f"; {most:.3%} of the records of a release at most",
        ""
        if needed == 0
        else "For a person linked more often than planned, or so often that ratios have grown "
        "past the population, no group is large enough. The paper does not say what its series "
        "did then.",
    )


def _small_error(releases: pl.DataFrame) -> Claim:
    papers = releases.filter(pl.col("study").is_in(list(_FIGURES)))
    means = papers.group_by("study", "series").agg(
        pl.col(ERROR).mean(), pl.col("error_protected_mean").mean()
    )
    usual = max(means[ERROR].to_list())
    protected = max(means["error_protected_mean"].to_list())
    return Claim(
        "Section 8",
        "The methods introduce a very small querying error",
        usual < 0.1,
        f"at most {usual:.2%} for queries about any value; but {protected:.1%} for queries about "
        "protected values, which are too few to show among all",
        ""
        if usual < 0.1
        else "Some series had releases in which a large part of the people was one group.",
    )


def _curves(frame: pl.DataFrame, measure: str) -> dict[str, NDArray[np.float64]]:
    """The measure of each series, in the order of the rounds; series in the order of the frame."""
    names = frame["series"].unique(maintain_order=True)
    return {
        name: frame.filter(pl.col("series") == name)[measure].to_numpy().astype(np.float64)
        for name in names
    }


def _fitted_change(curve: NDArray[np.float64]) -> float:
    """How far the least-squares line rises over the curve, as a share of the curve's mean."""
    if len(curve) < 2 or not curve.mean():
        return 0.0
    slope, _ = _slope(curve)
    return slope * (len(curve) - 1) / float(curve.mean())


def _has_trend(curve: NDArray[np.float64]) -> bool:
    """Whether the slope of the line is more than two standard errors away from 0."""
    if len(curve) < 3:
        return False
    slope, error = _slope(curve)
    return abs(slope) > 2 * error


def _stands_out(curve: NDArray[np.float64]) -> bool:
    return bool(curve.max(initial=0.0) > STANDS_OUT * np.median(curve))


def _slope(curve: NDArray[np.float64]) -> tuple[float, float]:
    """The slope of the least-squares line, and its standard error."""
    at = np.arange(len(curve)) - (len(curve) - 1) / 2
    spread = float((at * at).sum())
    slope = float((at * curve).sum()) / spread
    rest = curve - curve.mean() - slope * at
    variance = float((rest * rest).sum()) / max(len(curve) - 2, 1)
    return slope, math.sqrt(variance / spread)
