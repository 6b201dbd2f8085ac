"""One release, from the table to the files: read, prepare, form groups, verify, commit, write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from serigraph.engines import Engine, make_release
from serigraph.engines.compiling import ready_kernels
from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.engines.spark.sources import is_spark_frame
from serigraph.ledger import Series, Writer, notes_on_unknown, storage_errors
from serigraph.ledger.layout import Layout
from serigraph.model import Population
from serigraph.policy import Policy
from serigraph.publishing.choices import known_choice
from serigraph.publishing.files import write_tables
from serigraph.publishing.formulas import notes_on_formulas
from serigraph.publishing.new_people import check_new_people, notes_on_people
from serigraph.publishing.published import Published, TablesInMemory
from serigraph.publishing.terms import (
    advice,
    default_label,
    draft_of,
    is_dated_back,
    notes_on_dates,
    plan_of,
    policy_in_force,
    policy_path,
    summary_of,
    withdrawals,
)
from serigraph.publishing.unpublished import (
    Documents,
    LocalDraft,
    Measure,
    measure_nothing,
    without_documents,
)
from serigraph.publishing.worst_pairs import closest_pairs, worst_before
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.randomness import Randomness, SystemRandomness
from serigraph.runtime.threads import wait_interruptibly
from serigraph.signing import SigningKey
from serigraph.tables import prepare, read_table
from serigraph.tables.look_alikes import check_ids, check_values
from serigraph.tables.unique_columns import check_unique_columns
from serigraph.tables.value_list import check_held


def publish(
    table: Any,
    series: str | os.PathLike[str] | Series,
    *,
    registry: Any = None,
    label: str = "",
    query: str = "",
    allow_suppression: bool = False,
    new_people: bool = False,
    wait: float = 0.0,
    after: str | None = None,
    sign: str | os.PathLike[str] | None = None,
    progress: Progress = no_progress,
    randomness: Randomness | None = None,
    documents: Documents = without_documents,
    measure: Measure = measure_nothing,
    published_at: datetime | None = None,
    engine: Engine = "local",
    master: str = "",
    spark_settings: Mapping[str, str] | None = None,
    partition_people: int = 0,
) -> Published:
    """Publish a table as the next release of a series.

    ``table`` and ``registry`` are paths or data frames (Polars, pandas, Arrow, DuckDB, Spark). The
    label defaults to the file's name, or to ``release-<number>``. ``new_people`` says that it is
    meant if hardly anybody is known from earlier releases. ``documents`` writes further
    public files into the folder of the release, before it is committed. Raises `SerigraphError`;
    then nothing was published and nothing has changed.

    ``after`` is the chain digest of the release that has to be the latest one, empty if there has
    to be none: ``SeriesDiverged`` if the series ends elsewhere. ``sign`` is the path of the private
    key to sign the certificate with; `serigraph.make_key` makes one.

    With ``engine="spark"``, or a data frame of Spark, the release is made on a cluster: in the
    session that is active, or in one at ``master`` with ``spark_settings``. Paths are then those
    that Spark reads, and the folder of the series must be one that driver and executors share.
    ``partition_people`` is how many people a task gets (0: what suits most machines), and
    ``measure`` what is kept of each task's people for the documents.
    """
    signer = None if sign is None else SigningKey.read(sign)
    if engine == "spark" or is_spark_frame(table):
        from serigraph.publishing.on_spark import publish_on_spark

        return publish_on_spark(
            table,
            series,
            registry=registry,
            label=label,
            query=query,
            allow_suppression=allow_suppression,
            new_people=new_people,
            wait=wait,
            after=after,
            signer=signer,
            progress=progress,
            documents=documents,
            measure=measure,
            published_at=published_at,
            master=master,
            spark_settings=spark_settings or {},
            partition_people=partition_people,
        )
    kernels = ready_kernels(progress)
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    chance = randomness or SystemRandomness()
    with opened.writing(wait) as writer, ThreadPoolExecutor(1) as meanwhile:
        writer.ensure_follows(after)
        policy = policy_in_force(opened, writer.releases)
        named = label or default_label(table, len(writer.releases) + 1)
        progress("reading")
        reading = policy.reading.model_copy(update={"query": query}) if query else policy.reading
        rows = read_table(table, reading)
        everybody = (
            None if registry is None else read_table(registry, policy.reading.for_registry())
        )
        progress("preparing")
        prepared = prepare(rows, policy, everybody, known_choice(writer.releases), progress)
        if not writer.releases:
            check_held(prepared.value_list, policy, str(policy_path(opened)))
        check_values(prepared.value_list, prepared.protected_choice, policy, opened.protected_names)
        check_unique_columns(prepared.population, policy, str(policy_path(opened)))
        formulas = notes_on_formulas(
            policy, prepared.population.domains, prepared.value_list, str(policy_path(opened))
        )
        wait_interruptibly(kernels)
        del rows, everybody  # a large part of the memory
        population = prepared.population
        writer.ensure_new(named, population.digest, population.ids)
        progress("recalling")
        names = [value.name for value in population.protected]
        history = writer.history(population.ids, names, progress)
        on_people = _check_people(writer, opened, population, policy, new_people)
        strategy = policy.strategy_for(opened.link_gaps)
        plan = plan_of(policy, strategy, named, allow_suppression)
        made = make_release(
            population,
            history,
            ledger_on_disk(Layout(opened.path), writer.releases),
            plan,
            chance,
            progress,
        )
        choice = prepared.protected_choice.with_gaps(
            {gap.value: gap.risk for gap in made.proof.gaps}
        )
        progress("writing")
        encoded = meanwhile.submit(writer.encode, made.proof)
        write_tables(writer.staging, made.tables, policy.output, progress)
        at = published_at or datetime.now(UTC)
        earlier_pairs = closest_pairs(opened, writer.releases)
        summary = summary_of(
            made.figures(),
            worst_before(opened, writer.releases, earlier_pairs, made.thresholds_left()),
            has_registry=registry is not None,
            people=population.size,
            outside_registry=population.outside_registry,
            differing_from_registry=prepared.differing_from_registry,
            strategy=strategy,
            policy=policy,
            is_dated_back=is_dated_back(writer.releases, at),
        )
        with storage_errors(writer.staging):
            documents(
                LocalDraft(
                    folder=writer.staging,
                    earlier=writer.releases,
                    earlier_pairs=earlier_pairs,
                    label=named,
                    published_at=at,
                    policy=policy,
                    strategy=strategy,
                    made=made,
                    history=history,
                    history_ids=population.ids,
                    summary=summary,
                    value_list=prepared.value_list,
                    signer=signer,
                )
            )
        del history  # likewise
        notes = (
            *notes_on_unknown(writer.unknown_files),
            *notes_on_dates(summary),
            *on_people,
            *prepared.notes,
            *formulas,
            *withdrawals(made.proof),
            *advice(made.widths, policy),
        )
        progress("committing")
        record = writer.commit(
            encoded.result(),
            draft_of(policy, strategy, choice, named, at, population.digest, summary),
        )
    return Published(
        record,
        opened.path / "releases" / record.label,
        TablesInMemory(made.tables),
        notes,
        prepared.value_list,
    )


def _check_people(
    writer: Writer, series: Series, population: Population, policy: Policy, new_people: bool
) -> tuple[str, ...]:
    """Refuse people who may be known to the ledger by ids that were written in another way; notes
    on the others."""
    if not writer.releases:
        return ()
    known, present = writer.are_known(), population.present
    check_ids(population.ids.filter(pl.Series(~known)), lambda: series.people()["id"], policy)
    here, known_here = int(np.count_nonzero(present)), int(np.count_nonzero(known & present))
    if not new_people:
        check_new_people(
            writer.releases,
            present=here,
            known_present=known_here,
            absent=int(np.count_nonzero(~present)),
            known_absent=int(np.count_nonzero(known & ~present)),
        )
    return notes_on_people(writer.releases, present=here, known_present=known_here)
