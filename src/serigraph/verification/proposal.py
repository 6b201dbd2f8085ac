"""A proposed release, and whether it is well formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.model import Population
from serigraph.runtime.ordering import are_in_order
from serigraph.runtime.threads import TOGETHER, parallel_map, slices
from serigraph.short_repr import Undisclosed
from serigraph.verification.recorded_cohorts import CohortTerms
from serigraph.verification.regions import overlapping


@dataclass(frozen=True, repr=False)
class ProposedCohorts(Undisclosed):
    """The cohort of each person of a population, numbered as in all releases; and who retires."""

    cohort: NDArray[np.int64]
    retired: pl.Series  # ids


@dataclass(frozen=True)
class Proposal:
    """Groups for everybody: the group of each person of a population, and the boxes of codes of
    groups that are regions, which a generalised release shows. Where groups of a bucketised one may
    interleave, boxes have no columns."""

    form: Literal["generalised", "bucketised"]
    group: NDArray[np.int64]
    low: NDArray[np.int32]  # [group, column]
    high: NDArray[np.int32]
    cohorts: ProposedCohorts | None = None  # None if no value persists
    groups: Literal["interleaved", "regions"] = "interleaved"  # of a bucketised release

    @property
    def interleaves(self) -> bool:
        """Whether groups may overlap in space."""
        return self.form == "bucketised" and self.groups == "interleaved"


def check_proposal(population: Population, proposal: Proposal, where: str) -> None:
    """Refuse, with ``ImpossibleState``, anything that is no release of these people."""
    group, shape = proposal.group, proposal.low.shape

    def refuse_if(is_wrong: bool, what: str) -> None:
        if is_wrong:
            raise ImpossibleState(what, where=where)

    refuse_if(not are_in_order(population.ids), "the ids of the people do not ascend")
    refuse_if(
        len(group) != population.size or group.min(initial=0) < 0,
        "the proposed groups do not cover everybody",
    )
    refuse_if(
        len(shape) != 2 or proposal.high.shape != shape,
        "the lower and upper ends of the boxes do not have the same shape",
    )
    if proposal.interleaves:
        refuse_if(shape[1] > 0, "groups that interleave have no boxes, and boxes are proposed")
        return
    refuse_if(
        shape[1] != len(population.domains),
        "a region is a box over all quasi-identifiers, and none is proposed",
    )
    refuse_if(group.max(initial=-1) >= shape[0], "somebody is in a group that has no box")
    refuse_if(not _all_inside(population, proposal), "a person lies outside the box of its group")
    if proposal.cohorts is not None:
        return  # cohorts that were formed at different times may lie in the same place
    first, second = overlapping(proposal.low, proposal.high)
    refuse_if(first >= 0, f"the boxes of groups {first} and {second} overlap")


def _all_inside(population: Population, proposal: Proposal) -> bool:
    """Whether everybody lies in the box of their group, so that anybody who knows a person's
    quasi-identifiers finds that group."""
    ends = [
        (low.copy(), high.copy()) for low, high in zip(proposal.low.T, proposal.high.T, strict=True)
    ]

    def are_inside(part: slice) -> bool:
        group = proposal.group[part]
        return all(
            ((low[group] <= codes[part]) & (codes[part] <= high[group])).all()
            for codes, (low, high) in zip(population.codes, ends, strict=True)
        )

    return all(parallel_map(are_inside, slices(len(proposal.group), longest=TOGETHER)))


def check_stated(
    population: Population,
    proposal: Proposal,
    table: Population | None,
    terms: CohortTerms | None,
    where: str,
) -> None:
    """Refuse values that persist without cohorts, and cohorts where no value persists."""
    if terms is None:
        if any(value.persists for value in population.protected) or proposal.cohorts is not None:
            raise ImpossibleState(
                "values persist, and nothing says how cohorts are kept", where=where
            )
        return
    if proposal.cohorts is None or table is None:
        raise ImpossibleState("values persist, and no cohorts are proposed", where=where)


def check_rows(population: Population, proposal: Proposal, where: str) -> None:
    """Refuse a generalised release with a row that shows a transient value beside one that
    persists: earlier releases may tell which cohort of the group the latter is of, and a cohort is
    smaller than the group that the former needs. Records of several columns tell that in both
    forms, and without values that persist, so that both kinds are refused in one release."""
    persists = np.array([value.persists for value in population.protected], dtype=np.bool_)
    if population.keeps_records_whole and persists.any() and not persists.all():
        raise GuaranteeExceeded(
            "records of several columns would show transient values beside values that persist",
            where=where,
            remedy='set the persistence of all values to "any"',
        )
    if proposal.form != "generalised" or not len(population.held):
        return
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    both = [np.zeros(population.size, dtype=np.bool_) for _ in range(2)]
    for kind, holds in zip((True, False), both, strict=True):
        holds[holder[persists[population.held] == kind]] = True
    # A class that persists may be held by its transient values alone; then nothing else is shown.
    values = np.zeros(population.size, dtype=np.int64)
    values[population.records()] = population.values.list.len().to_numpy()
    if (both[0] & both[1] & (values > 1)).any():
        raise GuaranteeExceeded(
            "a row would show a transient value beside one that persists",
            where=where,
            remedy='choose form = "bucketised", or set the persistence of all values to "any"',
        )
