"""Reads the evidence, and the truth, from a series of ours or from releases that any tool made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.attacking.evidence import NOBODY, Evidence, Rows, Seen, Truth, insiders_of
from serigraph.attacking.neighbourhoods import neighbourhoods_of_latest
from serigraph.auditing.crowds import PublishedHolders
from serigraph.auditing.evidence import Evidence as Audited
from serigraph.auditing.from_ledger import evidence_of
from serigraph.auditing.from_releases import Matched, first_choice, gather_evidence, match_release
from serigraph.auditing.holders import (
    holders_in_releases,
    holders_in_series,
    people_with_protected_values,
    recorded_holders,
)
from serigraph.auditing.known_people import KnownPeople, know_people
from serigraph.auditing.matching import match, read_regions
from serigraph.auditing.reading import ReadRelease, read_release
from serigraph.auditing.sightings import Sightings, sightings_in_ledger, sightings_in_releases
from serigraph.errors import InputRefused, SeriesError
from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.drafts import beside_releases, find_draft
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import COHORTS, RETIRED, has_part, read_part
from serigraph.policy import Policy, read_policy
from serigraph.tables import ProtectedChoice, read_table


@dataclass(frozen=True)
class Target:
    """What is attacked, the truth to score by, and what to note."""

    evidence: Evidence
    truth: Truth
    highest_lift: float | None  # of the policy
    notes: tuple[str, ...] = ()


def series_target(
    series: Series, raw: Sequence[Any], registry: Any, draw: np.random.Generator, draft: str = ""
) -> Target:
    """All releases of a series, and a ``draft`` behind them if one is named. Groups and holders are
    those of the ledger; the ``raw`` tables and the latest ``registry`` give rows and
    quasi-identifiers."""
    releases, policy = series.releases(), read_policy(series.path / "policy.toml")
    if draft:
        layout = Layout(series.path)
        with beside_releases(layout, find_draft(layout, draft), releases) as (shown, with_draft):
            return _target_of(Series(shown.root), with_draft, policy, raw, registry, draw)
    if not releases:
        raise SeriesError(
            "there is nothing to attack: no release is out",
            where=str(series.path),
            remedy="publish a release first, or name a draft",
        )
    return _target_of(series, releases, policy, raw, registry, draw)


def _target_of(
    series: Series,
    releases: tuple[ReleaseRecord, ...],
    policy: Policy,
    raw: Sequence[Any],
    registry: Any,
    draw: np.random.Generator,
) -> Target:
    audited = evidence_of(series, releases)
    sightings = sightings_in_ledger(series, releases, audited)
    recorded = recorded_holders(series, releases, audited)
    choice = ProtectedChoice.from_json(releases[-1].protected_json)
    holders: list[PublishedHolders] = [each for each in recorded if each is not None]
    notes: tuple[str, ...] = ()
    if raw:
        holders, notes = holders_in_series(raw, policy, choice, audited, sightings, recorded)
    elif len(holders) < len(releases):
        raise InputRefused(
            "the ledger does not say who was published as a holder",
            where=str(series.path),
            remedy="give the table of each release with --raw, in order",
        )
    seen = tuple(
        _seen(label, each, len(audited.ids))
        for label, each in zip(audited.labels, sightings, strict=True)
    )
    persisting = (
        audited.persists[-1]
        if audited.persists is not None
        else np.zeros(len(audited.values), bool)
    )
    classes = _classes(series, releases, len(audited.ids))
    evidence = _evidence(audited, policy, seen, classes, persisting)
    evidence = replace(evidence, known_members=releases[-1].known_members)
    tables: tuple[NDArray[np.int64], ...] = ()
    if raw:
        read = [
            read_release(Layout(series.path).published(each.label), policy, each.number)
            for each in releases
        ]
        evidence, tables = _with_tables(evidence, read, raw, registry, policy, choice, audited)
        near = neighbourhoods_of_latest(
            Layout(series.path), releases, policy, raw[-1], registry, draw
        )
        evidence = replace(evidence, neighbourhoods=near)
    return _target(evidence, sightings, holders, tables, policy, draw, notes)


def releases_target(
    releases: Sequence[Any],
    policy: str | Path | Policy,
    raw: Sequence[Any],
    registry: Any,
    draw: np.random.Generator,
) -> Target:
    """Releases that any tool made, with the tables that they were made from."""
    if not releases:
        raise InputRefused("there is nothing to attack", remedy="give one or more releases")
    if not raw:
        raise InputRefused(
            "without the tables nobody can tell whether an attack is right",
            remedy="give the table of each release with --raw, in order",
        )
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    read = [
        replace(each, label=f"{number}: {each.label}")
        for number, each in enumerate(
            (read_release(r, rules, n) for n, r in enumerate(releases, 1)), 1
        )
    ]
    frames = [read_table(source, rules.reading) for source in raw]
    everybody = know_people(read, rules, frames, registry)
    choice = first_choice(read[0], rules)
    accepted = frozenset(("overlaps", "missing-people", "empty-regions"))
    matched = [
        match_release(release, people, rules, choice, accepted)  # type: ignore[arg-type]
        for release, people in zip(read, everybody.of_release, strict=True)
    ]
    audited = gather_evidence(matched, rules)
    sightings = sightings_in_releases(read, matched, audited, has_raw=True)
    holders, left_out = holders_in_releases(frames, rules, choice, audited, sightings)
    if holders is None:
        raise InputRefused(
            "a table has no sensitive column, so nobody can tell whether an attack is right",
            remedy="give the tables that the releases were made from",
        )
    seen = tuple(
        replace(_seen(each.label, told, len(audited.ids)), size=_sizes(each, told))
        for each, told in zip(matched, sightings, strict=True)
    )
    evidence = _evidence(audited, rules, seen, None, np.zeros(len(audited.values), dtype=np.bool_))
    evidence, tables = _with_tables(evidence, read, frames, registry, rules, choice, audited)
    notes = (*(note for each in matched for note in each.notes), *left_out)
    return _target(evidence, sightings, holders, tables, rules, draw, notes)


def _evidence(
    audited: Audited,
    policy: Policy,
    seen: tuple[Seen, ...],
    classes: NDArray[np.int64] | None,
    persisting: NDArray[np.bool_],
) -> Evidence:
    return Evidence(
        people=len(audited.ids),
        values=audited.values,
        thresholds=audited.thresholds,
        releases=seen,
        known_members=policy.guarantee.known_members,
        minimum_size=policy.guarantee.minimum_group_size,
        classes=classes,
        persisting=tuple(persisting.tolist()),
    )


def _target(
    evidence: Evidence,
    sightings: Sequence[Sightings],
    holders: Sequence[PublishedHolders],
    tables: tuple[NDArray[np.int64], ...],
    policy: Policy,
    draw: np.random.Generator,
    notes: tuple[str, ...],
) -> Target:
    published = tuple(np.sort(evidence.pairs(each.person, each.value)) for each in holders)
    present = []
    for each in sightings:
        is_present = np.zeros(evidence.people, dtype=np.bool_)
        is_present[each.person[each.present]] = True
        present.append(is_present)
    insiders = insiders_of(evidence.releases, draw)
    values = max(len(evidence.values), 1)
    told = tuple(
        pairs[insider[pairs // values] >= 0]
        for pairs, insider in zip(published, insiders, strict=True)
    )
    evidence = replace(evidence, insiders=tuple(insiders), told=told)
    truth = Truth(evidence, published, tuple(present), tables)
    return Target(evidence, truth, policy.attacks.highest_lift, notes)


def _seen(label: str, told: Sightings, people: int) -> Seen:
    group = np.full(people, NOBODY, dtype=np.int64)
    group[told.person] = told.group
    is_told = told.records >= 0
    recorded = np.where(is_told, told.records / np.maximum(told.members, 1), 1.0)
    return Seen(
        label=label,
        group=group,
        size=told.members.astype(np.int64),
        recorded=np.clip(recorded, 0.0, 1.0),
        shown_group=told.shown_group,
        shown_value=told.shown_value,
        shown_count=told.shown_count,
    )


def _sizes(matched: Matched, told: Sightings) -> NDArray[np.int64]:
    """The people to choose from. Where regions overlap, somebody is in one of several: the records
    of all of these."""
    if told.are_exact:
        return np.maximum(matched.size, 1).astype(np.int64)
    records = np.bincount(matched.person, matched.size[matched.group]).astype(np.int64)
    size = np.ones(len(told.members), dtype=np.int64)
    size[told.group] = records[np.unique(matched.person)]
    return size


def _classes(
    series: Series, releases: Sequence[ReleaseRecord], people: int
) -> NDArray[np.int64] | None:
    """Of each person the class that is promised to be alike: those of a cohort who are left, or who
    retired from it in the same release."""
    layout = Layout(series.path)
    cohort = np.full(people, NOBODY, dtype=np.int64)
    retired = np.zeros(people, dtype=np.int64)
    for release in releases:
        if has_part(release, COHORTS):
            joined = read_part(layout, release, COHORTS)
            cohort[joined["person"].to_numpy()] = joined["cohort"].cast(pl.Int64).to_numpy()
        if has_part(release, RETIRED):
            retired[read_part(layout, release, RETIRED)["person"].to_numpy()] = release.number
    if (cohort < 0).all():
        return None
    keys = np.where(cohort >= 0, cohort * (len(releases) + 1) + retired, NOBODY)
    return np.unique(keys, return_inverse=True)[1] - int((keys < 0).any())


def _with_tables(
    evidence: Evidence,
    read: Sequence[ReadRelease],
    raw: Sequence[Any],
    registry: Any,
    policy: Policy,
    choice: ProtectedChoice,
    audited: Audited,
) -> tuple[Evidence, tuple[NDArray[np.int64], ...]]:
    """The evidence with rows and quasi-identifiers, and who holds anything in the tables. People
    who are in no release come after all others."""
    frames = [read_table(source, policy.reading) for source in raw]
    without_ids = [replace(each, ids=None) for each in read]
    known = know_people(without_ids, policy, frames, registry).of_release
    people = [each for each in known if isinstance(each, KnownPeople)]
    present = [each.ids.filter(pl.Series(each.present)) for each in people]
    listed = pl.concat(present).unique(maintain_order=True)
    ids = pl.concat([audited.ids, listed.filter(~listed.is_in(audited.ids.implode()))])
    evidence = _extended(evidence, len(ids))
    found = []
    for seen, release, each, here in zip(
        evidence.releases, without_ids, people, present, strict=True
    ):
        attends = None
        if policy.guarantee.adversary == "presence known":
            attends = np.zeros(evidence.people, dtype=np.bool_)
            attends[_places(here, ids)] = True
        rows = _rows(release, each, _places(each.ids, ids), seen.group, policy)
        found.append(replace(seen, rows=rows, attends=attends))
    codes, columns = _codes(people, ids)
    held = people_with_protected_values(frames, policy, choice, ids, audited.labels)
    changed = replace(
        evidence,
        releases=tuple(found),
        codes=codes,
        columns=columns,
        listed=_listed(frames, policy, ids),
    )
    return changed, tuple(held)


def _extended(evidence: Evidence, people: int) -> Evidence:
    """The same with more people, who are in no group."""
    more = np.full(people - evidence.people, NOBODY, dtype=np.int64)
    return replace(
        evidence,
        people=people,
        releases=tuple(
            replace(seen, group=np.concatenate([seen.group, more])) for seen in evidence.releases
        ),
        classes=None if evidence.classes is None else np.concatenate([evidence.classes, more]),
    )


def _listed(frames: Sequence[pl.DataFrame], policy: Policy, ids: pl.Series) -> NDArray[np.int64]:
    """The place of each person in the last table that lists it."""
    found = np.full(len(ids), -1, dtype=np.int64)
    for frame in frames:
        place = _places(frame[policy.person.id].cast(ids.dtype, strict=False), ids)
        found[place[place >= 0]] = np.flatnonzero(place >= 0)
    return found


def _rows(
    release: ReadRelease,
    people: KnownPeople,
    place: NDArray[np.int64],
    group: NDArray[np.int64],
    policy: Policy,
) -> Rows | None:
    """The records with the groups of the evidence: those of the people who lie in their region."""
    regions, problems = read_regions(
        release.cells, people.domains, release.writing, policy.reading.null_values
    )
    if problems:
        return None
    group_of_row = regions.of_row if release.group is None else release.group
    person, region = match(people.codes, regions)
    links = pl.DataFrame({"region": regions.of_row, "shown": group_of_row}).unique()
    pairs = pl.DataFrame({"person": person, "region": region}).join(links, on="region")
    pairs = pairs.select("person", "shown").unique().filter(pl.col("person").is_unique())
    who = place[pairs["person"].to_numpy()]
    known = (who >= 0) & (group[who] >= 0)
    meant = np.full(int(group_of_row.max()) + 1, NOBODY, dtype=np.int64)
    meant[pairs["shown"].to_numpy()[known]] = group[who[known]]
    of_record = meant[group_of_row[release.record_row]]
    number = np.full(int(group.max(initial=-1)) + 1, NOBODY, dtype=np.int64)
    if release.group is None:
        groups, first = np.unique(of_record[of_record >= 0], return_index=True)
        number[groups] = first
    else:
        number[meant[meant >= 0]] = np.flatnonzero(meant >= 0)
    return Rows(of_record, release.record_values, number)


def _codes(
    people: Sequence[KnownPeople], ids: pl.Series
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    """Everybody's quasi-identifiers as ranks; of several tables the last counts. None if somebody
    is in no table: to bet on those alone who were ever there would say something about them."""
    names = tuple(domain.name for domain in people[0].domains)
    frames = [
        pl.DataFrame(
            {"id": each.ids}
            | {
                str(column): domain.values.gather(each.codes[column])
                for column, domain in enumerate(each.domains)
            }
        )
        for each in people
    ]
    last = pl.concat(frames, how="vertical_relaxed").unique("id", keep="last")
    if not ids.is_in(last["id"].implode()).all():
        return None, names
    joined = pl.DataFrame({"id": ids}).join(last, on="id", how="left", maintain_order="left")
    ranks = joined.select(pl.exclude("id").rank("dense").fill_null(0).cast(pl.Int64))
    return ranks.to_numpy().T.copy(), names


def _places(ids: pl.Series, among: pl.Series) -> NDArray[np.int64]:
    """The place of each id, or -1."""
    known = pl.DataFrame({"id": among}).with_row_index("place")
    found = pl.DataFrame({"id": ids}).join(known, on="id", how="left", maintain_order="left")
    return found["place"].cast(pl.Int64).fill_null(-1).to_numpy()
