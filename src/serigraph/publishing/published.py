"""A release before and after its commit, and the risk figures that every output shows: people alone
in a group, the pairs closest to their thresholds, and what is left of the thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from serigraph.charts import charts_in, figure
from serigraph.engines import Plan, VerifiedRelease
from serigraph.ledger import ReleaseRecord, Series
from serigraph.model import Past
from serigraph.policy import Policy
from serigraph.privacy.strategies import Strategy
from serigraph.publishing.persistence import Assumption
from serigraph.records import WorstPair, worst_of
from serigraph.short_repr import ShortRepr, Undisclosed
from serigraph.signing import SigningKey
from serigraph.tables import ProtectedChoice
from serigraph.tables.value_list import ValueList

if TYPE_CHECKING:
    from serigraph.auditing.figures import Survey


@dataclass(frozen=True)
class SingledOut:
    """People alone in their group, and rows whose quasi-identifiers no other row has."""

    people_alone: int
    unique_rows: int
    rows: int  # that have quasi-identifiers

    @staticmethod
    def of(summary: Mapping[str, Any]) -> SingledOut | None:
        """From the figures of a release; None for version 0.1.0, which has no counts."""
        if "people_alone" not in summary:
            return None
        return SingledOut(summary["people_alone"], summary["unique_rows"], summary["rows"])

    @staticmethod
    def over(summaries: Sequence[Mapping[str, Any]]) -> SingledOut | None:
        """The sums over releases, counting a person once in each; None if one has no counts."""
        each = [SingledOut.of(summary) for summary in summaries]
        known = [one for one in each if one is not None]
        if len(known) < len(each):
            return None
        return SingledOut(
            people_alone=sum(one.people_alone for one in known),
            unique_rows=sum(one.unique_rows for one in known),
            rows=sum(one.rows for one in known),
        )

    @property
    def share(self) -> Fraction:
        """The share of unique rows."""
        return Fraction(self.unique_rows, max(self.rows, 1))

    def words(self) -> tuple[str, ...]:
        """The counts in words; empty if both are 0.

        >>> print(SingledOut(0, 2, 8).words()[0].partition(":")[0])
        2 of 8 rows are unique on the quasi-identifiers (25.0 %)
        """
        said = []
        if self.people_alone:
            said.append(
                "1 person is alone in a group: anyone who knows the person's quasi-identifiers "
                "learns what the record holds"
                if self.people_alone == 1
                else f"{self.people_alone:,} people are alone in their group: anyone who knows "
                "their quasi-identifiers learns what their records hold"
            )
        if self.unique_rows:
            verb = "row is" if self.rows == 1 else "rows are"
            said.append(
                f"{self.unique_rows:,} of {self.rows:,} {verb} unique on the quasi-identifiers "
                f"({100 * float(self.share):.1f} %): anyone who knows that the person is in the "
                "table finds the row"
            )
        return tuple(said)


@dataclass(frozen=True)
class ClosestPairs:
    """The pairs closest to their thresholds: among those that one release touches, and over the
    whole series up to it, including people who are not in the release."""

    in_release: WorstPair | None  # None: nobody is exposed
    in_series: WorstPair | None


def closest_pairs(series: Series, releases: Sequence[ReleaseRecord]) -> tuple[ClosestPairs, ...]:
    """The closest pairs of each release from its summary, by the thresholds left at the time.

    Releases of version 0.1.0 did not record the threshold of their largest probability. If there is
    only one, it is known; otherwise the ledger is read.
    """
    if all("worst_in_release" in each.summary for each in releases):
        in_release = [pair_of(each.summary["worst_in_release"]) for each in releases]
    elif not releases[-1].policy["protected"]["thresholds"]:
        in_release = [_only_threshold(each) for each in releases]
    else:
        in_release = list(_surveyed(series, releases).touched_worst)
    so_far = accumulate(in_release, lambda one, other: worst_of((one, other)))
    return tuple(
        ClosestPairs(pair, _stored(each, "worst_in_series", before))
        for each, pair, before in zip(releases, in_release, so_far, strict=True)
    )


def worst_before(
    series: Series,
    releases: Sequence[ReleaseRecord],
    earlier: Sequence[ClosestPairs],
    left: Mapping[str, Fraction],
) -> WorstPair | None:
    """The worst pair of the series before a release, by the thresholds that the release leaves.

    Suppression lowers the thresholds in ``left`` for everybody, including people who are not in the
    release: then all pairs are compared again.
    """
    if not releases:
        return None
    if not left:
        return earlier[-1].in_series
    return _surveyed(series, releases, left).after[-1].worst


def _surveyed(
    series: Series, releases: Sequence[ReleaseRecord], left: Mapping[str, Fraction] | None = None
) -> Survey:
    from serigraph.auditing.cohorts import alike_after_releases
    from serigraph.auditing.evidence import as_promised
    from serigraph.auditing.figures import survey
    from serigraph.auditing.from_ledger import evidence_of
    from serigraph.auditing.persisting import with_classes

    known = evidence_of(series, releases).of_transient()
    thresholds = zip(known.values, known.thresholds, strict=True)
    changed = tuple((left or {}).get(name, threshold) for name, threshold in thresholds)
    evidence = replace(known, thresholds=changed)
    return with_classes(
        survey(evidence, as_promised(evidence)), alike_after_releases(series, releases, left)
    )


def _stored(release: ReleaseRecord, name: str, otherwise: WorstPair | None) -> WorstPair | None:
    return pair_of(release.summary[name]) if name in release.summary else otherwise


def pair_of(known: dict[str, str] | None) -> WorstPair | None:
    """A pair from a summary."""
    return None if known is None else WorstPair.from_json(known)


def _only_threshold(release: ReleaseRecord) -> WorstPair | None:
    largest = Fraction(release.summary["largest_probability"])
    known = WorstPair("", largest, Fraction(release.threshold)) if largest else None
    return _stored(release, "worst_in_release", known)


def known_choice(releases: tuple[ReleaseRecord, ...]) -> ProtectedChoice | None:
    """What has been protected since the first release, if there is one."""
    return ProtectedChoice.from_json(releases[-1].protected_json) if releases else None


def threshold_left(releases: tuple[ReleaseRecord, ...], policy: Policy, name: str) -> Fraction:
    """The part of a value's threshold that suppression has left for groups to spend."""
    choice, threshold = known_choice(releases), policy.threshold_of(name)
    return threshold if choice is None else choice.threshold_left(name, threshold)


STAGES = (
    "reading",
    "preparing",
    "recalling",
    "ordering",
    "forming groups",
    "verifying",
    "recoding",
    "writing",
    "committing",
)


@dataclass(frozen=True, repr=False)
class Unpublished(Undisclosed):
    """A verified release before its commit. Its tables are already in ``folder``; further public
    files are written from this record."""

    folder: Path
    earlier: tuple[ReleaseRecord, ...]
    earlier_pairs: tuple[ClosestPairs, ...]  # of each of them
    label: str
    published_at: datetime
    policy: Policy
    strategy: Strategy
    summary: Mapping[str, object]
    assumption: Assumption
    value_list: ValueList  # protected and unprotected values of the table
    signer: SigningKey | None  # of the certificate
    measured: tuple[Any, ...]  # figures for the documents, piece by piece

    @property
    def number(self) -> int:
        return len(self.earlier) + 1


Documents = Callable[[Unpublished], tuple[Any, ...]]
"""Writes further public files; returns what attacks on the draft have found."""


def without_documents(_release: Unpublished) -> tuple[Any, ...]:
    """Write nothing beside the tables."""
    return ()


def measure_nothing(_made: VerifiedRelease, _plan: Plan, _past: Past, _ids: pl.Series) -> None:
    """Keep nothing for the documents."""


@dataclass(frozen=True, repr=False)
class Published(ShortRepr):
    """A published release: its record, the folder of its files, and their tables."""

    record: ReleaseRecord
    folder: Path
    tables: Mapping[str, pl.DataFrame]
    notes: tuple[str, ...]
    value_list: ValueList  # protected and unprotected values of the table
    attacks: tuple[Any, ...] = ()  # what attacks on it have found; for the publisher alone

    @property
    def figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = self.record.summary
        return figures

    def _facts(self) -> dict[str, object]:
        return {
            "release": f"{self.record.number}, {self.record.label}",
            "people": self.figures["present"],
            "groups": self.figures["groups"],
            "worst probability": pair_of(self.figures["worst_in_release"]),
            "over the series": pair_of(self.figures["worst_in_series"]),
            "tables": ", ".join(self.tables),
            "notes": len(self.notes),
            "folder": self.folder,
        }

    def _pictures(self) -> str:
        """The charts of the release's report, if it has one."""
        try:
            page = (self.folder / "report.html").read_text(encoding="utf-8")
        except OSError:
            return ""
        return figure(charts_in(page))
