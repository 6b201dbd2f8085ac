"""Running one series: every release made, measured and remembered, and the whole audited."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.engines import Plan, make_release
from serigraph.errors import PromiseError
from serigraph.experiments.baselines import Grouped, anatomy, mondrian, unprotected
from serigraph.experiments.exposure_audit import audit_series
from serigraph.experiments.m_invariance import Memory, m_invariant
from serigraph.experiments.memory import Shown, recalled, remembered
from serigraph.experiments.setting import Setting, populations
from serigraph.experiments.source import VALUE, Source
from serigraph.model import Population, link_gaps, shares_of
from serigraph.privacy.link_chances import LinkGaps
from serigraph.runtime.randomness import Randomness, SeededRandomness
from serigraph.utility import (
    Form,
    Queries,
    WorkloadKind,
    answer,
    asked_about,
    discernibility,
    group_sizes,
    kl_divergence,
    normalised_certainty_penalty,
    normalised_group_size,
    put_to,
    shared_queries,
    suppressed_share,
)

Row = dict[str, str | int | float]

_WORKLOADS: tuple[WorkloadKind, ...] = ("any", "protected")


@dataclass(frozen=True)
class Ran:
    """What a series gave: one row a release, one row of all, and the times, which vary."""

    releases: list[Row]
    summary: Row
    seconds: list[Row]


@dataclass(frozen=True)
class _Release:
    """One release of any method: what was published, and who was in which group."""

    population: Population
    group: NDArray[np.int64]
    shown: Shown
    shown_if_presence_known: Shown
    people_left_out: int = 0
    counterfeits: int = 0


@dataclass(frozen=True)
class _Asked:
    """The queries of a whole series, and the values that their ranges run over."""

    queries: Queries
    names: pl.Series


_Maker = Callable[[int, Population], _Release]


def run_series(setting: Setting, source: Source) -> Ran:
    """Make all releases of a setting, one after the other, and measure them."""
    return run_populations(setting, populations(setting, source))


def run_populations(setting: Setting, tables: Sequence[Population]) -> Ran:
    """The same with tables of one's own."""
    randomness = SeededRandomness(setting.seed)
    past: list[Shown] = []
    past_if_known: list[Shown] = []
    make = _maker(setting, randomness, past)
    asked = _asked(setting, tables)
    releases: list[Row] = []
    seconds: list[Row] = []
    people: list[NDArray[np.int64]] = []
    refused = 0
    for number, table in enumerate(tables, 1):
        begun = time.perf_counter()
        try:
            made = make(number, table)
        except PromiseError:
            refused = number  # a series that is refused once does not go on
            break
        taken = time.perf_counter() - begun
        past.append(made.shown)
        past_if_known.append(made.shown_if_presence_known)
        people.append(table.ids.to_numpy()[table.present])
        place: Row = {"study": setting.study, "series": setting.name, "round": number}
        releases.append(place | _measured(setting, asked, table, made))
        seconds.append(place | {"seconds": taken})
    place = {"study": setting.study, "series": setting.name}
    if not releases:
        return Ran([], place | {"rounds": 0, "first_round_refused": refused}, [])
    everybody = np.unique(np.concatenate(people))
    candidates = np.unique(np.concatenate([everybody, *(shown.ids for shown in past)]))
    audit = audit_series(past, candidates[candidates <= everybody.max()], setting.threshold)
    known = audit_series(past_if_known, everybody, setting.threshold)
    summary = place | _means(releases)
    summary |= {
        "threshold": float(setting.threshold),
        "largest_p": float(audit.largest),
        "largest_p_exact": _short(str(audit.largest)),
        "people_above_threshold": audit.people_above,
        "share_above_threshold": audit.people_above / len(everybody),
        "largest_p_presence_known": float(known.largest),
        "people_with_records": len(everybody),
        "most_links": max((n for n, pairs in enumerate(audit.links) if pairs), default=0),
        "first_round_refused": refused,
        "first_round_with_suppression": next(
            (int(row["round"]) for row in releases if float(row["suppressed_share"]) > 0), 0
        ),
    }
    return Ran(releases, summary, seconds)


def _maker(setting: Setting, randomness: Randomness, past: list[Shown]) -> _Maker:
    if setting.way == "serigraph":
        left: dict[str, Fraction] = {}  # of thresholds, after suppression

        def publish(number: int, table: Population) -> _Release:
            protected = tuple(
                replace(value, threshold=left.get(value.name, value.threshold))
                for value in table.protected
            )
            charged = replace(table, protected=protected)
            made = _published(setting, number, charged, past, randomness)
            left.update({value.name: value.threshold for value in made.population.protected})
            return made

        return publish
    memory = Memory({})

    def group(number: int, table: Population) -> _Release:
        nonlocal memory
        present = table.subset(table.present)
        if setting.way == "none":
            grouped = unprotected(present)
        elif setting.way == "mondrian":
            grouped = mondrian(present, setting.diversity)
        elif setting.way == "anatomy":
            grouped = anatomy(present, setting.diversity, randomness)
        else:
            grouped, memory = m_invariant(present, setting.diversity, memory, randomness)
        return _of_baseline(grouped)

    return group


def _of_baseline(grouped: Grouped) -> _Release:
    shown = Shown.of_groups(grouped.population, grouped.group)
    return _Release(
        grouped.population, grouped.group, shown, shown, counterfeits=grouped.counterfeits
    )


def _published(
    setting: Setting, number: int, table: Population, past: list[Shown], randomness: Randomness
) -> _Release:
    history = recalled(past, table.ids.to_numpy(), [value.name for value in table.protected])
    plan = Plan(
        label=f"round-{number}",
        strategy=setting.strategy.strategy(
            lambda: _link_gaps(past), shares_of(table, presence_known=not setting.has_registry)
        ),
        form=setting.form,
        method=setting.method,
        minimum_size=1,
        is_presence_known=not setting.has_registry,
        allows_suppression=True,
        sensitive=VALUE,
        blind=setting.blind,
    )
    made = make_release(table, history, remembered(past), plan, randomness)
    ids = made.population.ids.to_numpy()
    group = np.full(made.population.size, -1, dtype=np.int64)
    group[np.searchsorted(ids, made.proof.ids.to_numpy())] = made.proof.group
    return _Release(
        population=made.population,
        group=group,
        shown=Shown.of_proof(made.proof, not setting.has_registry),
        shown_if_presence_known=Shown.of_proof(made.proof, True),
        people_left_out=int(table.present.sum() - made.population.present.sum()),
    )


def _link_gaps(past: list[Shown]) -> LinkGaps:
    """What the ledger on disk would give, of everybody and all values ever shown."""
    if not past:
        return LinkGaps()
    people = np.unique(np.concatenate([shown.ids for shown in past]))
    names = pl.concat([shown.value_name for shown in past]).unique().sort().to_list()
    return link_gaps(recalled(past, people, names), len(names))


def _asked(setting: Setting, tables: Sequence[Population]) -> dict[WorkloadKind, _Asked]:
    """The same queries for all rounds, and for every method that is run on these tables, so that a
    trend or a difference is not one of the queries. A round answers those that count something in
    its table."""
    if not setting.queries:
        return {}
    (sizes,) = {tuple(domain.size for domain in table.domains) for table in tables}
    found: dict[WorkloadKind, _Asked] = {}
    for kind in _WORKLOADS:
        names = pl.concat([asked_about(table, kind) for table in tables]).unique().sort()
        queries = shared_queries(
            sizes, len(names), queries=setting.queries, seed=setting.simulation.seed
        )
        found[kind] = _Asked(queries, names)
    return found


def _measured(
    setting: Setting, asked: dict[WorkloadKind, _Asked], table: Population, made: _Release
) -> Row:
    published, group = made.population, made.group
    sizes = group_sizes(published, group)
    row: Row = {
        "records": int(table.values.list.len().sum()),
        "people": int(table.present.sum()),
        "groups": sizes.groups,
        "mean_size": sizes.mean,
        "largest_size": sizes.largest,
        "groups_with_protected_value": sizes.groups_with_protected_value,
        "mean_size_with_protected_value": sizes.mean_with_protected_value,
        "largest_size_with_protected_value": sizes.largest_with_protected_value,
        "suppressed_share": 0.0 if made.counterfeits else suppressed_share(table, published),
        "people_left_out": made.people_left_out,
        "counterfeits": made.counterfeits,
    }
    if not asked:
        return row
    form: Form = "bucketised" if setting.way == "anatomy" else setting.form
    for kind, drawn in asked.items():
        workload = put_to(table, drawn.queries, drawn.names)
        errors = answer(workload, published, group, form)
        row |= {
            f"error_{kind}_mean": errors.mean,
            f"error_{kind}_median": errors.median,
            f"error_{kind}_p95": errors.percentile_95,
            f"counting_nothing_{kind}": errors.redrawn_share,
        }
    divergence = kl_divergence(published, group, form=form, raw=table)
    return row | {
        "ncp": float(normalised_certainty_penalty(published, group).mean()),
        "discernibility": discernibility(published, group, left_out=made.people_left_out),
        "normalised_group_size": normalised_group_size(
            published, group, smallest=setting.diversity
        ),
        "kl_divergence": divergence.nats,
    }


def _means(releases: list[Row]) -> Row:
    """Means over the releases; the largest size is the largest of all, counts are summed up."""
    frame = pl.DataFrame(releases, infer_schema_length=None)
    summed = ("people_left_out", "counterfeits")
    means: Row = {"rounds": len(releases)}
    for name in frame.columns:
        if name in ("study", "series", "round"):
            continue
        column = frame[name]
        if name in summed:
            means[name] = int(column.sum())
        elif name.startswith("largest"):
            means[name] = int(column.max())  # type: ignore[arg-type]
        else:
            means[name] = float(column.mean())  # type: ignore[arg-type]
    return means


def _short(fraction: str) -> str:
    """An exact fraction where it fits into a table."""
    return fraction if len(fraction) <= 40 else ""
