"""How well a release answers range queries: the relative errors of a workload."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from serigraph.model import Population
from serigraph.utility import kernels
from serigraph.utility.published import Cells, Entries, Form, Groups
from serigraph.utility.workload import Workload, WorkloadKind, draw_workload


@dataclass(frozen=True)
class QueryErrors:
    """Relative errors |actual - estimate| / actual over a workload."""

    mean: float
    median: float
    percentile_95: float
    queries: int  # that count something; fewer than asked for if hardly any does
    redrawn_share: float
    errors: NDArray[np.float64] = field(repr=False)  # of each query


def query_errors(  # all that a measurement depends on
    population: Population,
    group: NDArray[np.int64],
    *,
    queries: int = 5000,
    seed: int = 1,
    workload: WorkloadKind = "any",
    columns: int = 2,
    selectivity: float = 0.05,
    form: Form = "generalised",
    raw: Population | None = None,
) -> QueryErrors:
    """The errors of a release, given the group of each person (negative: in no published group).

    Absent members have no records, but widen regions, and in a bucketised release they are dealt
    values like everybody else. Where values were suppressed or counterfeit records added,
    ``population`` is what was published and ``raw`` the table that the queries are really about.
    See ``draw_workload`` for the queries.
    """
    drawn = draw_workload(
        population if raw is None else raw,
        queries=queries,
        seed=seed,
        workload=workload,
        columns=columns,
        selectivity=selectivity,
    )
    return answer(drawn, population, group, form)


def answer(
    workload: Workload,
    population: Population,
    group: NDArray[np.int64],
    form: Form = "generalised",
) -> QueryErrors:
    """The errors of a release on queries that were drawn before, as for ``query_errors``."""
    if not len(workload):
        nothing = float("nan")
        return QueryErrors(
            nothing, nothing, nothing, 0, workload.redrawn_share, np.empty(0, dtype=np.float64)
        )
    estimate = estimates(workload, population, group, form)
    errors = np.abs(workload.actual - estimate) / workload.actual
    return QueryErrors(
        mean=float(errors.mean()),
        median=float(np.median(errors)),
        percentile_95=float(np.quantile(errors, 0.95)),
        queries=len(errors),
        redrawn_share=workload.redrawn_share,
        errors=errors,
    )


def estimates(
    workload: Workload, population: Population, group: NDArray[np.int64], form: Form
) -> NDArray[np.float64]:
    """What somebody who has the release would answer to each query.

    Generalised: the records of a group whose value lies in the range, times the share of the
    group's region that lies in the query. Bucketised: times the share of the group's members whose
    quasi-identifiers do.
    """
    groups = Groups.of(population, group)
    cells = Cells.of(Entries.of(population, workload.names), groups.number)
    asked = workload.queries
    queries = kernels.Asked(asked.column, asked.low, asked.high, asked.first, asked.last)
    entries = kernels.Listed(cells.start, cells.group, cells.count)
    window = kernels.Window(np.zeros(len(groups.size), dtype=np.int32), np.array([0, -1]))
    share, estimates = np.zeros(len(groups.size)), np.zeros(len(asked))
    if form == "generalised":
        kernels.estimate_from_regions(
            entries,
            queries,
            window,
            groups.low,
            groups.high,
            1.0 / (groups.high - groups.low + 1),
            share,
            estimates,
        )
    else:
        member = groups.number >= 0
        kernels.estimate_from_members(
            entries,
            queries,
            window,
            kernels.Members(
                groups.number[member],
                np.ascontiguousarray(population.codes[:, member]),
                groups.size,
            ),
            share,
            np.zeros(int(member.sum()), dtype=np.uint8),
            estimates,
        )
    return estimates
