"""How close the pairs of a series are to their thresholds, release by release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from serigraph.ledger import ReleaseRecord, Series
from serigraph.records import WorstPair, worst_of


@dataclass(frozen=True)
class ClosestPairs:
    """The pairs that are closest to their thresholds: of those that one release touches, and of
    the whole series up to it, people who are not in the release included."""

    in_release: WorstPair | None  # None where nobody is exposed to anything
    in_series: WorstPair | None


def closest_pairs(series: Series, releases: Sequence[ReleaseRecord]) -> tuple[ClosestPairs, ...]:
    """Those of each release, as its summary has them.

    Releases of version 0.1.0 did not say which threshold their largest probability belongs to.
    Where there is but one, that is known; otherwise the ledger is read.
    """
    if all("worst_in_release" in each.summary for each in releases):
        in_release = [pair_of(each.summary["worst_in_release"]) for each in releases]
    elif not releases[-1].policy["protected"]["thresholds"]:
        in_release = [_only_threshold(each) for each in releases]
    else:
        from serigraph.auditing.evidence import as_promised
        from serigraph.auditing.figures import survey
        from serigraph.auditing.from_ledger import evidence_of

        evidence = evidence_of(series, releases)
        in_release = list(survey(evidence, as_promised(evidence)).touched_worst)
    so_far = accumulate(in_release, lambda one, other: worst_of((one, other)))
    return tuple(ClosestPairs(*pairs) for pairs in zip(in_release, so_far, strict=True))


def pair_of(known: dict[str, str] | None) -> WorstPair | None:
    """A pair as a summary has it."""
    return None if known is None else WorstPair.from_json(known)


def _only_threshold(release: ReleaseRecord) -> WorstPair | None:
    if "worst_in_release" in release.summary:
        return pair_of(release.summary["worst_in_release"])
    largest = Fraction(release.summary["largest_probability"])
    return WorstPair("", largest, Fraction(release.threshold)) if largest else None
