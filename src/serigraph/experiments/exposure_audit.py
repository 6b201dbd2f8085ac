"""Whether a whole series keeps the global guarantee, recomputed from what was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.experiments.memory import Shown, recalled
from serigraph.model import Past, standing
from serigraph.privacy.breach import breach_probability
from serigraph.records import Exposure

_MARGIN = 1e-9  # far above the rounding of a product of a few thousand factors


@dataclass(frozen=True)
class SeriesAudit:
    """The global guarantee over a series: p(o,s,k) of every person and protected value."""

    largest: Fraction  # exact, of the pair that floats place highest
    people_above: int  # people with some value above the threshold, decided exactly
    links: tuple[int, ...]  # pairs by number of links, from 0


def audit_series(
    past: Sequence[Shown], people: NDArray[np.int64], threshold: Fraction
) -> SeriesAudit:
    """Follow everybody in ``people`` through all releases, for all values ever shown."""
    names = pl.concat([shown.value_name for shown in past]).unique().sort().to_list()
    history = recalled(past, people, names)
    stands = standing(history, [threshold] * len(names))
    probability = stands.largest_by_person
    if not len(probability) or not names:
        return SeriesAudit(Fraction(0), 0, ())
    limit = float(threshold)
    above = int((probability > limit + _MARGIN).sum())
    for place in np.flatnonzero(np.abs(probability - limit) <= _MARGIN).tolist():
        above += _largest(history, place) > threshold
    return SeriesAudit(
        largest=_largest(history, int(np.argmax(probability))),
        people_above=above,
        links=tuple(int(pairs) for pairs in stands.links.sum(axis=0)),
    )


def _largest(history: Past, place: int) -> Fraction:
    """The largest breach probability of one person, in fractions."""
    exposures: dict[int, list[Exposure]] = {}
    held = history.held
    for each in history.exposures(slice(place, place + 1))[2].tolist():
        exposures.setdefault(int(held.value[each]), []).append(
            Exposure(int(held.size[each]), int(held.count[each]))
        )
    return max(map(breach_probability, exposures.values()), default=Fraction(0))
