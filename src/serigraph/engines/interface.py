"""The interface of an engine: the steps of a release, and what each returns.

Every engine makes a release in the same steps: ``Engine.workplace`` -> ``Workplace.read`` ->
``Sources.prepare`` -> ``People.recall`` -> ``Recalled.make`` -> ``Unwritten.write`` ->
``Staged.commit``. Each step returns the next one, so that none can be skipped or come too early.
`serigraph.publishing` takes these steps and knows no engine. To add an engine, implement the
protocols below; nothing else has to change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import (
    Classes,
    Domain,
    KeptValues,
    Past,
    Population,
    Proof,
    ProtectedValue,
    unique_rows,
)
from serigraph.privacy.adaptive import largest_share
from serigraph.privacy.strategies import Strategy
from serigraph.short_repr import Undisclosed

if TYPE_CHECKING:
    from serigraph.auditing import Auditor
    from serigraph.grouping import Method
    from serigraph.ledger import ReleaseDraft, ReleaseRecord, Series, Writer
    from serigraph.ledger.encoding import EncodedParts
    from serigraph.policy import Output, Policy
    from serigraph.privacy.link_chances import LinkGaps
    from serigraph.recoding import RecordShape
    from serigraph.runtime.progress import Progress
    from serigraph.runtime.randomness import Randomness
    from serigraph.tables import ProtectedChoice
    from serigraph.tables.value_list import ValueList

Form = Literal["generalised", "bucketised"]
Groups = Literal["interleaved", "regions"]


@dataclass(frozen=True)
class CohortTerms:
    """How cohorts are formed and kept."""

    size: int  # of a new cohort, at least
    least: int  # members of a cohort that goes on after somebody has left
    may_depart: bool  # leaving the registry says nothing about a person's values
    has_registry: bool
    has_one_value: bool  # everybody with a record has one value
    protect: Callable[[str], ProtectedValue]  # what the policy says of a value or class by its name

    def persists(self, name: str) -> bool:
        """Whether a protected value or class does."""
        return self.protect(name).persists

    def threshold_of(self, name: str) -> Fraction:
        """The threshold of a value or class."""
        return self.protect(name).threshold


@dataclass(frozen=True)
class Plan:
    """How one release is to be made."""

    label: str
    strategy: Strategy
    form: Form
    method: Method
    minimum_size: int
    is_presence_known: bool
    allows_suppression: bool
    sensitive: str  # the column's name
    has_one_value: bool = False  # a generalised table shows each person's value, not a set
    records: RecordShape | None = None  # if there are several sensitive columns, or plain ones
    clearance: Fraction = Fraction(1, 4)  # suppression leaves this much of a limit
    known_members: int = 0  # the adversary knows this many other members of every group
    cohorts: CohortTerms | None = None  # None if no value persists
    groups: Groups = "interleaved"  # of a bucketised release; generalised groups are regions
    blind: bool = False  # cells are cut only where either side could have all holders

    @property
    def interleaves(self) -> bool:
        """Whether groups may overlap in space."""
        return self.form == "bucketised" and self.groups == "interleaved"


@dataclass(frozen=True, repr=False)
class CohortFacts(Undisclosed):
    """What became of people and values where values persist.

    ``left_out`` is for the publisher alone: that a cohort has more holders than it may show must
    not be known. Everything else follows from the registry and from what is published.
    """

    cohorts: int  # in the release
    people: int  # in these
    waiting: int  # not in the release: too few people like them
    retired: int  # of the table and the registry, not in this release nor in a later one
    leaving: int  # in this release, and not in a later one: they are with a value shown once
    withheld: int  # records left out beside a value that is shown once
    left_out: int  # people whose values were taken out
    after: Classes  # of people who are alike


@dataclass(frozen=True, repr=False)
class VerifiedRelease(Undisclosed):
    """A verified release: what the ledger commits, what is published, and its figures."""

    population: Population  # after suppression
    proof: Proof
    tables: dict[str, pl.DataFrame]  # for reading, see ``as_text`` of recoding
    widths: dict[str, float]  # NCP of each quasi-identifier
    cohorts: CohortFacts | None = None  # None if no value persists
    # The lowest and the highest codes of the boxes of groups that are regions, [group, column].
    boxes: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None

    def thresholds_left(self) -> dict[str, Fraction]:
        """What groups may spend from now on of the thresholds that this release's gaps lower."""
        charged = {gap.value for gap in self.proof.gaps if gap.risk}
        left = self.population.protected
        return {value.name: value.threshold for value in left if value.name in charged}

    @property
    def rows(self) -> int:
        """Published rows with quasi-identifiers."""
        return next(iter(self.tables.values())).height

    @property
    def people_alone(self) -> int:
        """People who are the only member of their group."""
        return int(np.count_nonzero(self.proof.size == 1))

    def unique_rows(self) -> int:
        """Rows whose published quasi-identifiers no other row has."""
        if "quasi_identifiers" not in self.tables:
            if self.proof.cohorts is not None:  # their regions may be the same
                columns = [domain.name for domain in self.population.domains]
                return int(self.tables["table"].select(columns).is_unique().sum())
            # Regions are disjoint: a row shares its region with the rows of its group only.
            return int(np.count_nonzero(self.proof.present_size == 1))
        shown = self.proof.ids
        if self.rows < len(shown):
            shown = shown.filter(pl.Series(self.proof.present))
        codes = self.population.codes
        if len(shown) < self.population.size:
            codes = codes[:, self.population.ids.search_sorted(shown).to_numpy()]
        return unique_rows(codes, [domain.size for domain in self.population.domains])

    @property
    def _shows_rows(self) -> bool:
        """Whether the public sees which cells belong to one record."""
        held = self.tables.get("sensitive")
        return held is None or "column" not in held.columns

    def figures(self) -> dict[str, object]:
        """What is reported about the release; counts and figures only."""
        proof = self.proof
        linked = np.zeros(len(proof.size), dtype=np.bool_)
        linked[proof.value_group] = True
        with_value = proof.size[linked]
        return {
            "people": len(proof.ids),
            "present": int(proof.present.sum()),
            "rows": self.rows,
            "unique_rows": self.unique_rows(),
            "people_alone": self.people_alone,
            "groups": len(proof.size),
            "mean_size": float(proof.size.mean()) if len(proof.size) else 0.0,
            "groups_with_protected_value": int(linked.sum()),
            "mean_size_with_protected_value": float(with_value.mean()) if len(with_value) else 0.0,
            "smallest_size": int(proof.size.min()) if len(proof.size) else 0,
            "largest_size": int(proof.size.max()) if len(proof.size) else 0,
            "protected_values": len(shown_values(proof)),
            "pairs_checked": proof.pairs,
            "pairs_decided_in_fractions": proof.exact_pairs,
            "largest_probability": str(proof.largest),
            "worst_in_release": proof.worst.to_json() if proof.worst else None,
            **suppression_figures(proof, self.population),
            **(plain_figures(proof, self.population) if self._shows_rows else {}),
            "normalised_widths": self.widths,
            "mean_normalised_width": float(np.mean(list(self.widths.values()))),
            **cohort_figures(self.cohorts),
        }


def shown_values(proof: Proof) -> set[str]:
    """The protected values and classes that the release shows."""
    return set(proof.value_name.unique().cast(pl.String))


def cohort_figures(facts: CohortFacts | None) -> dict[str, object]:
    """What is reported about cohorts; nothing if no value persists."""
    if facts is None:
        return {}
    return {
        "cohorts": facts.cohorts,
        "mean_cohort_size": facts.people / max(facts.cohorts, 1),
        "people_waiting": facts.waiting,
        "people_retired": facts.retired,
        "people_leaving": facts.leaving,
        "records_withheld": facts.withheld,
    }


def suppression_figures(proof: Proof, population: Population) -> dict[str, object]:
    """How many holders of which value are missing, for values that the release still shows.

    Naming or counting a value that it does not show would reveal that somebody holds it.
    """
    shown = shown_values(proof)
    is_class = {value.name for value in population.protected if value.stands_for}
    missing = {gap.value: gap.missing for gap in proof.gaps if gap.value in shown}
    return {
        "suppressed": missing,
        "suppressed_values": sum(missing[name] for name in missing.keys() - is_class),
    }


_SPREAD = 0x9E3779B97F4A7C15  # odd: groups stay different in all 64 bits


def plain_figures(proof: Proof, population: Population) -> dict[str, object]:
    """How far plain columns single records out; nothing if there are none."""
    plain = population.plain
    if not plain.width:
        return {}
    cells = plain.hash_rows().to_numpy()
    of_group = proof.group[proof.present].astype(np.uint64) * np.uint64(_SPREAD)
    if proof.cohorts is not None:
        # Where values are shown once, no plain cell stands beside them.
        is_shown = ~plain.select(pl.all_horizontal(pl.all().is_null())).to_series().to_numpy()
        cells, of_group = cells[is_shown], of_group[is_shown]
    return {
        "plain_columns": plain.width,
        "plain_unique_in_group": _unique(cells ^ of_group),
        "plain_unique_in_table": _unique(cells),
    }


def _unique(hashes: NDArray[np.uint64]) -> int:
    """How many of the hashes occur once. Sorting takes a tenth of the time of a hash table."""
    in_order = np.sort(hashes)
    differs = np.ones(len(in_order) + 1, dtype=np.bool_)  # from the one before
    np.not_equal(in_order[1:], in_order[:-1], out=differs[1 : len(in_order)])
    return int(np.count_nonzero(differs[1:] & differs[:-1]))


Measure = Callable[[VerifiedRelease, Plan, Past, pl.Series], Any]
"""What is kept for the documents of a verified release, or of each piece of one; the last two
arguments are the past and the ids of its people."""


@dataclass(frozen=True)
class PeopleFacts:
    """What is known about the people of a table and a registry, whichever engine read them."""

    people: int  # in the table and in the registry
    present: int  # in the table
    outside_registry: int
    differing_from_registry: int
    domains: tuple[Domain, ...]
    choice: ProtectedChoice
    value_list: ValueList  # the policy's values and those of the table
    notes: tuple[str, ...]
    plain_texts: Mapping[str, Sequence[str]] = field(default_factory=dict)  # formulas among them


def largest_shares(
    listed: ValueList, present: int, people: int, policy: Policy
) -> dict[str, float]:
    """The share of people who may hold each protected value or class in a later release, by the
    counts of this table; of a class, as if nobody held two of its values. ``people`` are those
    present and those only in the registry."""
    to_choose_from = present if policy.guarantee.adversary == "presence known" else people
    cover = max(to_choose_from - policy.guarantee.known_members, 1)
    holders = {each.name: each.people for each in listed.protected}
    holders |= {
        name: min(sum(each.people for each in members), present)
        for name, members in listed.classes.items()
    }
    return {name: largest_share(number, cover) for name, number in holders.items()}


@dataclass(frozen=True)
class Known:
    """How many of the people are known to the ledger."""

    present: int  # in the table
    absent: int  # in the registry only


@dataclass(frozen=True)
class MadeFacts:
    """What is reported about a verified release; counts, figures and names of values only."""

    figures: Mapping[str, Any]
    widths: Mapping[str, float]  # NCP of each quasi-identifier
    gap_risks: Mapping[str, Fraction]  # what suppression reveals, by value
    thresholds_left: Mapping[str, Fraction]  # of the values whose thresholds gaps have lowered
    withdrawn: tuple[str, ...]  # values that the release does not show at all
    left_out: int = 0  # people whose values were taken out: their cohorts may show no more holders


class Engine(Protocol):
    """Where releases are made, series audited and ledgers exported."""

    def workplace(
        self, series: Series, table: Any, *, wait: float, measure: Measure, progress: Progress
    ) -> AbstractContextManager[Workplace]:
        """Become the one writer of a series; see ``Series.writing``."""

    def auditor(self, series: Series) -> AbstractContextManager[Auditor]:
        """The reader of a series for an audit."""

    def export(self, series: Series, folder: Path, *, confidential: bool) -> None:
        """Write the ledger as Parquet, by the published contract; see ``Series.export``."""


class Workplace(Protocol):
    """Where one release is made."""

    @property
    def writer(self) -> Writer: ...

    def read(self, table: Any, registry: Any, policy: Policy, query: str) -> Sources:
        """Read the table, and the registry unless it is None; ``query`` is for a database."""


class Sources(Protocol):
    """A table and a registry, read."""

    def prepare(self, known: ProtectedChoice | None, progress: Progress) -> People:
        """One record per person, checked against the policy; ``known`` is what has been protected
        since the first release."""


class People(Protocol):
    """The people of a release."""

    @property
    def facts(self) -> PeopleFacts: ...

    def values_before(self) -> Sequence[str]:
        """The protected values that earlier releases have shown."""

    def check_unique_columns(self, where: str) -> None:
        """Refuse a quasi-identifier that is unique for many people; ``where`` is the policy."""

    def recall(self, label: str, progress: Progress) -> Recalled:
        """What the ledger knows about them; refuses a label or a table that is already published,
        and ids that may belong to people whom the ledger knows under another spelling."""


class Recalled(Protocol):
    """The people of a release with their past."""

    @property
    def digest(self) -> str:
        """Digest of the table."""

    @property
    def known(self) -> Known: ...

    def kept_values(self) -> KeptValues:
        """How often people hold each value that the policy calls transient again when they come
        back, over the latest releases and the table."""

    def link_gaps(self) -> LinkGaps:
        """How many releases lay between the links of everybody in the ledger."""

    def make(self, plan: Plan, randomness: Randomness | None, progress: Progress) -> Unwritten:
        """Form groups, verify them, recode; see ``make_release`` for what it raises."""


class Unwritten(Protocol):
    """A verified release that is not written yet."""

    @property
    def facts(self) -> MadeFacts: ...

    def write(self, output: Output, progress: Progress) -> Staged:
        """Write the public tables into the staging folder, and prepare the ledger's parts."""


class Staged(Protocol):
    """A release whose tables are written but not yet published."""

    @property
    def measured(self) -> tuple[Any, ...]:
        """What ``Measure`` returned, piece by piece."""

    def encoded(self) -> EncodedParts:
        """The parts of the ledger as ``commit`` would write them; refused on a cluster, where they
        are written piece by piece."""

    def commit(self, draft: ReleaseDraft) -> ReleaseRecord:
        """Make the release exist, then public."""

    def tables(self, folder: Path) -> Mapping[str, pl.DataFrame]:
        """The public tables, once they are in their folder."""
