"""deFinetti: who holds a value is learned from quasi-identifiers, through the releases themselves.

The adversary knows everybody's quasi-identifiers and groups, and nothing of anybody's values. It
begins with n_s/n for each member, learns by naive Bayes which quasi-identifiers go with a value,
shares the n_s holders of each group out again by what it has learned, and repeats. Kifer (SIGMOD
2009); Cormode (KDD 2011).

Measured: in each group that shows a value, the member most believed in. Any release that is worth
reading leaves something to learn: this measures how much, on the publisher's own data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, Seen, one_of_each
from serigraph.attacking.scoring import Guesses, Risk, holding, together

_ROUNDS = 6
BINS = 20  # of a column
_PRIOR = 10.0  # people with the average of everybody, added to those with a value
_FITS = 8
_TINY = 1e-12


@dataclass(frozen=True)
class DeFinetti:
    name: str = "deFinetti"
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if evidence.codes is None:
            return (
                "it needs everybody's quasi-identifiers: give the tables (--raw) and the registry"
            )
        bins = [binned(column) for column in evidence.codes]
        usual = [np.bincount(each, minlength=BINS) / len(each) for each in bins]
        parts = []
        for value in range(len(evidence.values)):
            shows = [np.flatnonzero(s.counts(value)[s.group]) for s in evidence.releases]
            ratio = np.ones(evidence.people)
            for _ in range(_ROUNDS):
                beliefs = [
                    shared_out(seen, value, person, ratio[person])
                    for seen, person in zip(evidence.releases, shows, strict=True)
                ]
                ratio = learned(bins, usual, np.concatenate(shows), np.concatenate(beliefs))
            for j, (person, believed) in enumerate(zip(shows, beliefs, strict=True)):
                picked = np.zeros(len(person), dtype=np.bool_)
                group = evidence.releases[j].group[person]
                picked[one_of_each(group, believed, draw)] = True
                values = np.full(len(person), value)
                parts.append(holding(evidence, person, values, believed, picked, j))
        return together(parts)


def shared_out(
    seen: Seen, value: int, person: NDArray[np.int64], ratio: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The holders of each group, shared out over its members in proportion to their odds."""
    group, counts = seen.group[person], seen.counts(value).astype(np.float64)
    size = np.append(seen.size, 1).astype(np.float64)
    weight = counts / np.maximum(size - counts, _TINY)
    for _ in range(_FITS):
        odds = ratio * weight[group]
        found = np.bincount(group, odds / (1 + odds), minlength=len(counts))
        odds_found = found / np.maximum(size - found, _TINY)
        wanted = counts / np.maximum(size - counts, _TINY)
        weight = np.minimum(weight * wanted / np.maximum(odds_found, _TINY), 1 / _TINY)
    odds = ratio * weight[group]
    shared: NDArray[np.float64] = odds / (1 + odds)
    return shared


def learned(
    bins: list[NDArray[np.int64]],
    usual: list[NDArray[np.float64]],
    person: NDArray[np.int64],
    believed: NDArray[np.float64],
) -> NDArray[np.float64]:
    """For everybody, how much more often people like it hold the value than people do."""
    ratio = np.ones(len(bins[0]))
    for column, average in zip(bins, usual, strict=True):
        holders = np.bincount(column[person], believed, minlength=BINS) + _PRIOR * average
        ratio *= (holders / holders.sum() / np.maximum(average, _TINY))[column]
    return ratio


def binned(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Equal codes share a bin; where there are many, bins have about as many people each."""
    if int(column.max(initial=0)) < BINS:
        return column
    ends = np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])
    return np.searchsorted(np.unique(ends), column, side="right").astype(np.int64)
