"""The utility of what a series published, release by release.

The ledger keeps who was in which group, and not the tables. So the tables are given again: each
is matched to its release by its digest.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.arguments import several
from serigraph.errors import SeriesError, TableError
from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.layout import Layout
from serigraph.model import Population
from serigraph.policy import Policy, read_policy
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.stages import shows_progress
from serigraph.short_repr import ShortRepr
from serigraph.tables import Prepared, ProtectedChoice, prepare, read_table
from serigraph.tables.addresses import shown
from serigraph.utility.divergence import kl_divergence
from serigraph.utility.measures import (
    discernibility,
    group_sizes,
    normalised_certainty_penalty,
    normalised_group_size,
    suppressed_share,
)
from serigraph.utility.published import Form
from serigraph.utility.queries import QueryErrors, query_errors
from serigraph.utility.rebuilding import rebuilt
from serigraph.utility.same_people import refuse_other_people
from serigraph.utility.workload import WorkloadKind

STAGES = ("reading", "measuring")


@dataclass(frozen=True)
class ReleaseUtility:
    """What one release is worth; sizes count people, absent members included."""

    release: int
    label: str
    form: Form
    people: int  # in the table
    groups: int
    mean_size: float
    largest_size: int
    groups_with_protected_value: int
    mean_size_with_protected_value: float
    errors: QueryErrors
    errors_protected: QueryErrors
    normalised_certainty_penalty: float
    discernibility: int
    normalised_group_size: float
    kl_divergence: float
    suppressed_share: float


@dataclass(frozen=True, repr=False)
class Evaluation(ShortRepr):
    """The releases whose tables were given, and the ledger's records of the others."""

    releases: tuple[ReleaseUtility, ...]
    without_table: tuple[ReleaseRecord, ...]

    def _facts(self) -> dict[str, object]:
        return {
            "measured": ", ".join(each.label for each in self.releases) or "nothing",
            "without a table": ", ".join(each.label for each in self.without_table) or "none",
        }


@dataclass(frozen=True)
class QueryPlan:
    """Which queries a release is asked."""

    queries: int = 5000
    columns: int = 2
    selectivity: float = 0.05
    seed: int = 1


@shows_progress(STAGES)
def evaluate(
    series: str | os.PathLike[str] | Series,
    tables: Any = (),
    *,
    registry: Any = None,
    plan: QueryPlan | None = None,
    progress: Progress = no_progress,
) -> Evaluation:
    """Measure the releases of a series whose ``tables``, one or several, are given, in any order.

    ``registry`` is the population list that the releases were made with: absent members widen
    regions. Raises ``TableError`` if the series did not publish a table, or if the registry
    cannot be the one that its release was made with.
    """
    given = several(tables)
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    policy = read_policy(opened.path / "policy.toml")
    releases = opened.releases()
    if not releases:
        raise SeriesError(
            "no release is out yet", where=str(opened.path), remedy="publish a table first"
        )
    listed = None if registry is None else read_table(registry, policy.reading.for_registry())
    found: list[ReleaseUtility] = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger"
        opened.export(ledger)
        for number, table in enumerate(given, 1):
            progress("measuring", number - 1, len(given))
            where = shown(table) if isinstance(table, str | os.PathLike) else f"table {number}"
            release, prepared = _release_of(table, where, listed, policy, releases)
            raw = prepared.population
            published, group = rebuilt(raw, ledger, release.number, where)
            refuse_other_people(
                prepared, listed is not None, published, group, release, Layout(opened.path), where
            )
            found.append(_measured(release, raw, published, group, policy, plan or QueryPlan()))
    measured = {each.release for each in found}
    return Evaluation(
        tuple(sorted(found, key=lambda each: each.release)),
        tuple(release for release in releases if release.number not in measured),
    )


def _release_of(
    table: Any,
    where: str,
    registry: pl.DataFrame | None,
    policy: Policy,
    releases: tuple[ReleaseRecord, ...],
) -> tuple[ReleaseRecord, Prepared]:
    """The release that a table became, and its people as they were prepared for it."""
    rows = read_table(table, policy.reading)
    choices = [ProtectedChoice.from_json(release.protected_json) for release in releases]
    # The digest is that of the content, whatever is protected. Plain columns may have changed.
    as_made = [
        policy.model_copy(update={"plain": release.policy.get("plain", {})}) for release in releases
    ]
    known: dict[tuple[tuple[str, str], ...], Prepared] = {}
    for release, choice, its_policy in zip(releases, choices, as_made, strict=True):
        plain = its_policy.plain
        if not set(plain) <= set(rows.columns):
            continue
        columns = tuple(sorted(plain.items()))
        if columns not in known:
            known[columns] = prepare(rows, its_policy, registry, choices[0])
        prepared = known[columns]
        if release.table_digest == prepared.population.digest:
            if choice != choices[0]:
                prepared = prepare(rows, its_policy, registry, choice)
            return release, prepared
    raise TableError(
        "the series has no release of this table",
        where=where,
        remedy="give the table exactly as it was published",
    )


def _measured(
    release: ReleaseRecord,
    raw: Population,
    published: Population,
    group: NDArray[np.int64],
    policy: Policy,
    plan: QueryPlan,
) -> ReleaseUtility:
    form: Form = "bucketised" if release.summary["form"] == "bucketised" else "generalised"

    def errors(workload: WorkloadKind) -> QueryErrors:
        return query_errors(
            published,
            group,
            raw=raw,
            form=form,
            workload=workload,
            queries=plan.queries,
            seed=plan.seed,
            columns=min(plan.columns, len(raw.domains)),
            selectivity=plan.selectivity,
        )

    sizes = group_sizes(published, group)
    return ReleaseUtility(
        release=release.number,
        label=release.label,
        form=form,
        people=int(raw.present.sum()),
        groups=sizes.groups,
        mean_size=sizes.mean,
        largest_size=sizes.largest,
        groups_with_protected_value=sizes.groups_with_protected_value,
        mean_size_with_protected_value=sizes.mean_with_protected_value,
        errors=errors("any"),
        errors_protected=errors("protected"),
        normalised_certainty_penalty=float(normalised_certainty_penalty(published, group).mean()),
        discernibility=discernibility(
            published, group, left_out=int(raw.present.sum() - published.present.sum())
        ),
        normalised_group_size=normalised_group_size(
            published, group, smallest=float(1 / policy.threshold)
        ),
        kl_divergence=kl_divergence(published, group, form=form, raw=raw).nats,
        suppressed_share=suppressed_share(raw, published),
    )
