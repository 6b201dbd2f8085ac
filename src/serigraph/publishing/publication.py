"""One release, from the table to the files: read, prepare, form groups, verify, write, commit.

The steps are the same on every engine; `serigraph.engines.interface` defines each of them.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from serigraph.arguments import names, text
from serigraph.engines import Engine, Local, Measure, engine_for
from serigraph.engines.interface import Staged, largest_shares
from serigraph.ledger import ReleaseDraft, Series, Writer, notes_on_unknown, storage_errors
from serigraph.policy import Policy, digest_of_policy
from serigraph.publishing.persistence import (
    Assumption,
    check_transient,
    notes_on_cohorts,
    notes_on_persistence,
    overridden_values,
)
from serigraph.publishing.published import (
    Documents,
    Published,
    Unpublished,
    closest_pairs,
    known_choice,
    measure_nothing,
    without_documents,
    worst_before,
)
from serigraph.publishing.records import notes_on_plain
from serigraph.publishing.terms import (
    advice,
    check_new_people,
    check_other_table,
    check_registry,
    check_same_descriptions,
    check_sign_off,
    default_label,
    draft_of,
    is_dated_back,
    notes_on_dates,
    notes_on_formulas,
    notes_on_people,
    plan_of,
    policy_in_force,
    policy_path,
    recorded_digest,
    summary_of,
    withdrawals,
)
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.randomness import Randomness
from serigraph.short_repr import Undisclosed
from serigraph.signing import SigningKey
from serigraph.tables.look_alikes import check_values
from serigraph.tables.value_list import ValueList, check_held


@dataclass(frozen=True, repr=False)
class Ready(Undisclosed):
    """A release that is verified and written, and may still be committed or not."""

    series: Series
    writer: Writer
    policy: Policy
    policy_digest: str
    staged: Staged
    entry: ReleaseDraft
    notes: tuple[str, ...]
    attacks: tuple[Any, ...]  # what they found; for the publisher alone
    value_list: ValueList
    progress: Progress


Ended = TypeVar("Ended")
Options = ParamSpec("Options")


def release(  # one keyword per option of a release; one straight sequence
    ending: Callable[[Ready], Ended],
    table: Any,
    series: str | os.PathLike[str] | Series,
    *,
    registry: Any = None,
    label: str | int = "",
    query: str = "",
    allow_suppression: bool = False,
    new_people: bool = False,
    same_table: bool = False,
    assume_transient: str | Collection[str] = (),
    wait: float = 0.0,
    after: str | None = None,
    sign: str | os.PathLike[str] | SigningKey | None = None,
    progress: Progress = no_progress,
    randomness: Randomness | None = None,
    documents: Documents = without_documents,
    measure: Measure = measure_nothing,
    published_at: datetime | None = None,
    engine: Engine = Local(),  # noqa: B008 - a frozen record without fields
) -> Ended:
    """Make the next release of a series from a table, and end as asked.

    ``table`` and ``registry`` are paths or data frames (Polars, pandas, Arrow, DuckDB, Spark). The
    label defaults to the file's name, or to ``release-<number>``. ``new_people`` confirms that
    hardly anybody is known from earlier releases, ``same_table`` that the table is that of an
    earlier one. ``documents`` writes further public files into
    the folder of the release before it is committed, from what ``measure`` returned, and returns
    what attacks have found. Raises
    `SerigraphError`; then nothing was published and nothing has changed.

    ``assume_transient`` names values and classes to publish even if the data contradict the
    policy, which calls them transient; every report says so.

    ``after`` is the chain digest that the latest release must have, empty if there must be none;
    otherwise ``SeriesDiverged``. ``sign`` is the private key to sign the certificate with, or the
    path of one; `serigraph.make_key` makes one.

    ``engine`` says where the release is made: `serigraph.Local`, or `serigraph.Spark` for a
    cluster. A Spark data frame implies Spark.
    """
    signer = None if sign is None else SigningKey.read(sign)
    place = engine_for(engine, table)
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    with place.workplace(opened, table, wait=wait, measure=measure, progress=progress) as work:
        writer, rules = work.writer, str(policy_path(opened))
        writer.ensure_follows(after)
        policy_digest = digest_of_policy(rules)  # first: a change in between is noticed
        policy = policy_in_force(opened, writer.releases)
        if ending is commit:
            check_sign_off(policy, rules)
        check_registry(writer.releases, policy, has_registry=registry is not None)
        named = text(label, "label") or default_label(table, len(writer.releases) + 1)

        progress("reading")
        sources = work.read(table, registry, policy, query)
        progress("preparing")
        people = sources.prepare(known_choice(writer.releases), progress)
        del sources  # frees much of the memory
        facts = people.facts
        if not writer.releases:
            check_held(facts.value_list, policy, rules)
        check_values(facts.value_list, facts.choice, policy, people.values_before)
        check_same_descriptions(facts, policy)
        people.check_unique_columns(rules)
        formulas = notes_on_formulas(policy, facts, rules)
        assumed = names(assume_transient, "assume_transient")
        overridden = overridden_values(assumed, policy, facts.choice)

        recalled = people.recall(named, progress)
        if not same_table:
            check_other_table(writer.releases, recalled.digest)
        if not new_people:
            check_new_people(writer.releases, facts, recalled.known)
        kept = recalled.kept_values()
        over_time = kept.over_time(policy.persistence_of)
        check_transient(over_time, overridden, writer.releases, policy)
        shares = largest_shares(facts.value_list, facts.present, facts.people, policy)
        strategy = policy.strategy_for(recalled.link_gaps, shares)
        plan = plan_of(
            policy,
            strategy,
            named,
            allow_suppression=allow_suppression,
            has_registry=registry is not None,
        )
        unwritten = recalled.make(plan, randomness, progress)
        made = unwritten.facts

        progress("writing")
        staged = unwritten.write(policy.output, progress)
        at = published_at or datetime.now(UTC)
        earlier_pairs = closest_pairs(opened, writer.releases)
        summary = summary_of(
            made.figures,
            worst_before(opened, writer.releases, earlier_pairs, made.thresholds_left),
            facts,
            has_registry=registry is not None,
            strategy=strategy,
            policy=policy,
            is_dated_back=is_dated_back(writer.releases, at),
            overridden=overridden,
        )
        assumption = Assumption.of(
            policy.frozen(), [*(each.summary for each in writer.releases), summary]
        )
        with storage_errors(writer.staging):
            attacks = documents(
                Unpublished(
                    folder=writer.staging,
                    earlier=writer.releases,
                    earlier_pairs=earlier_pairs,
                    label=named,
                    published_at=at,
                    policy=policy,
                    strategy=strategy,
                    summary=summary,
                    assumption=assumption,
                    value_list=facts.value_list,
                    signer=signer,
                    measured=staged.measured,
                )
            )
        notes = (
            *notes_on_unknown(writer.unknown_files),
            *notes_on_dates(summary),
            *notes_on_people(writer.releases, facts, recalled.known),
            *notes_on_persistence(assumption, kept, over_time),
            *notes_on_cohorts(made.figures, made.left_out),
            *notes_on_plain(summary, persists=policy.has_persisting_values),
            *facts.notes,
            *formulas,
            *withdrawals(made.withdrawn),
            *advice(made.widths, policy),
        )
        choice = facts.choice.with_gaps(made.gap_risks)
        digest = recorded_digest(writer.releases, recalled.digest)
        draft = draft_of(policy, strategy, choice, named, at, digest, summary)
        del people, recalled, unwritten  # frees more
        return ending(
            Ready(
                series=opened,
                writer=writer,
                policy=policy,
                policy_digest=policy_digest,
                staged=staged,
                entry=draft,
                notes=notes,
                attacks=attacks,
                value_list=facts.value_list,
                progress=progress,
            )
        )


def commit(ready: Ready) -> Published:
    """Let a release exist, then be public."""
    ready.progress("committing")
    record = ready.staged.commit(ready.entry)
    folder = ready.series.path / "releases" / record.label
    tables = ready.staged.tables(folder)
    return Published(record, folder, tables, ready.notes, ready.value_list, ready.attacks)


def ending_with(
    ending: Callable[[Ready], Ended],
    make: Callable[Concatenate[Callable[[Ready], Ended], Options], Ended],
    name: str,
    summary: str,
) -> Callable[Options, Ended]:
    """The function that makes a release with all its options, and ends in one way."""

    @wraps(make)
    def ended(*args: Options.args, **options: Options.kwargs) -> Ended:
        return make(ending, *args, **options)

    signature = inspect.signature(make)
    own = [each for each in signature.parameters.values() if each.name != "ending"]
    result = inspect.signature(ending).return_annotation
    shown = signature.replace(parameters=own, return_annotation=result)
    ended.__signature__ = shown  # type: ignore[attr-defined]
    ended.__name__ = ended.__qualname__ = name
    ended.__doc__ = summary + (make.__doc__ or "").partition("\n")[2]
    return ended


publish = ending_with(
    commit, release, "publish", "Publish a table as the next release of a series.\n"
)
