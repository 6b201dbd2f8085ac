"""The figures of an audit with those of values that persist: each pair by what protects it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from math import ceil

import numpy as np
from numpy.typing import NDArray

from serigraph.auditing.cohorts import AlikeAfter, PairKind
from serigraph.auditing.figures import BINS, SHARES, Figures, Survey
from serigraph.records import worst_of


def with_classes(transient: Survey, alike: Sequence[AlikeAfter]) -> Survey:
    """The survey of transient values, and with it that of values that persist."""
    if not alike:
        return transient
    touched = [
        max(mine, each.touched_largest) for mine, each in zip(transient.touched, alike, strict=True)
    ]
    touched_worst = [
        worst_of((mine, each.touched_worst))
        for mine, each in zip(transient.touched_worst, alike, strict=True)
    ]
    maxima = accumulate(touched, max)
    worst = accumulate(touched_worst, lambda one, other: worst_of((one, other)))
    after = tuple(
        replace(
            _together(figures, each.kinds),
            people=_people(transient.linked <= number, each.exposed),
            largest=max(figures.largest, largest),
            people_above=_people(transient.crossing <= number, each.above),
            worst=closest,
        )
        for number, (figures, each, largest, closest) in enumerate(
            zip(transient.after, alike, maxima, worst, strict=True)
        )
    )
    return replace(
        transient, after=after, touched=tuple(touched), touched_worst=tuple(touched_worst)
    )


def _people(linked: NDArray[np.bool_], alike: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(linked | alike))


def _together(figures: Figures, kinds: Sequence[PairKind]) -> Figures:
    pairs = figures.pairs + sum(each.pairs for each in kinds)
    total = figures.mean * figures.pairs + sum(float(e.probability) * e.pairs for e in kinds)
    by_probability, by_share = list(figures.by_probability), list(figures.by_share_of_threshold)
    for each in kinds:
        by_probability[min(int(each.probability * BINS), BINS - 1)] += each.pairs
        by_share[_share(each.probability / each.threshold)] += each.pairs
    above = sum(each.pairs for each in kinds if each.probability > each.threshold)
    return replace(
        figures,
        pairs=pairs,
        mean=total / max(pairs, 1),
        pairs_above=figures.pairs_above + above,
        by_probability=tuple(by_probability),
        by_share_of_threshold=tuple(by_share),
    )


def _share(share: Fraction) -> int:
    """The tenth of the threshold, with its upper end; the last is above."""
    return SHARES if share > 1 else max(ceil(share * SHARES) - 1, 0)
