"""One release on a cluster: Spark reads, partitions and writes; the catalog's commit stays one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.engines.spark.cells import REGISTRY, TABLE
from serigraph.engines.spark.digests import comparing_on
from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.keeping import PersistedFrames
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.engines.spark.members import written_parts
from serigraph.engines.spark.partitions import PEOPLE as PARTITION_PEOPLE
from serigraph.engines.spark.people import check_unique_columns_on_spark, everybody
from serigraph.engines.spark.release import MadeOnSpark, Setting, make_release_on_spark
from serigraph.engines.spark.session import check_executors, spark_session
from serigraph.engines.spark.sources import is_spark_frame, table_frame
from serigraph.engines.spark.verifier_ledger import VerifierFrames
from serigraph.ledger import Series, Writer, notes_on_unknown, storage_errors
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import GROUPS, VALUES
from serigraph.ledger.storage import ensure_folder, make_folder
from serigraph.policy import Output
from serigraph.privacy.link_chances import LinkGaps
from serigraph.publishing.choices import known_choice
from serigraph.publishing.files import write_tables
from serigraph.publishing.formulas import notes_on_formulas
from serigraph.publishing.new_people import check_new_people, notes_on_people
from serigraph.publishing.published import Published, TablesOnDisk
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
)
from serigraph.publishing.unpublished import Documents, Measure, RemoteDraft
from serigraph.publishing.worst_pairs import closest_pairs, worst_before
from serigraph.runtime.progress import Progress
from serigraph.signing import SigningKey
from serigraph.tables.canonical import roles_of
from serigraph.tables.look_alikes import check_values
from serigraph.tables.value_list import check_held

_PATIENCE = 90.0  # seconds for the executors of somebody else's session to answer


@dataclass(frozen=True)
class _WritePublic:
    """Writes the tables of one partition, in the formats that the policy asks for."""

    output: Output

    def __call__(self, folder: Path, own: str, tables: dict[str, pl.DataFrame]) -> list[Path]:
        named = {f"{own}-{name}": table for name, table in tables.items()}
        write_tables(folder, named, self.output)
        return [folder / f"{name}.{ending}" for name in named for ending in self.output.files]


def publish_on_spark(
    table: Any,
    series: str | os.PathLike[str] | Series,
    *,
    registry: Any,
    label: str,
    query: str,
    allow_suppression: bool,
    new_people: bool,
    wait: float,
    after: str | None,
    signer: SigningKey | None,
    progress: Progress,
    documents: Documents,
    measure: Measure,
    published_at: datetime | None,
    master: str,
    spark_settings: Mapping[str, str],
    partition_people: int,
) -> Published:
    """``publish`` with the work done by Spark; the arguments are those of ``publish``, with the
    key of the signer read."""
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    if is_spark_frame(table):
        check_executors(table.sparkSession, _PATIENCE)
        using: Any = nullcontext(table.sparkSession)
    else:
        using = spark_session(master, settings=spark_settings)
    with (
        using as session,
        PersistedFrames() as kept,
        opened.writing(wait, comparing_on(session)) as writer,
    ):
        writer.ensure_follows(after)
        policy = policy_in_force(opened, writer.releases)
        named = label or default_label(table, len(writer.releases) + 1)
        progress("reading")
        reading = policy.reading.model_copy(update={"query": query}) if query else policy.reading
        roles = roles_of(policy)
        frames = {TABLE: table_frame(session, table, reading, roles)}
        if registry is not None:
            listed = policy.reading.for_registry()
            frames[REGISTRY] = table_frame(session, registry, listed, roles)
        with storage_errors(writer.drafts):
            make_folder(writer.drafts)
        setting = Setting(
            session=session,
            ledger=LedgerFrames(session, Layout(opened.path), writer.releases),
            for_verifier=VerifierFrames(
                session, ledger_on_disk(Layout(opened.path), writer.releases)
            ),
            releases=writer.releases,
            drafts=writer.drafts,
            partition_people=partition_people or PARTITION_PEOPLE,
            kept=kept,
            measure=measure,
            write=_WritePublic(policy.output),
        )
        progress("preparing")
        people = everybody(
            frames, policy, setting.ledger, writer.releases, known_choice(writer.releases), kept
        )
        if not writer.releases:
            check_held(people.value_list, policy, str(policy_path(opened)))
        if not new_people:
            check_new_people(
                writer.releases,
                present=people.present,
                known_present=people.known_present,
                absent=people.people - people.present,
                known_absent=people.known_absent,
            )
        check_values(
            people.value_list,
            people.choice,
            policy,
            lambda: _shown_values(setting.ledger) if writer.releases else [],
        )
        check_unique_columns_on_spark(people, policy, str(policy_path(opened)))
        formulas = notes_on_formulas(
            policy, people.domains, people.value_list, str(policy_path(opened))
        )
        digests: list[str] = []

        def ensure_new(digest: str) -> None:
            digests.append(digest)
            writer.ensure_new(named, digest, people.ids)

        strategy = policy.strategy_for(lambda: _link_gaps(setting))
        plan = plan_of(policy, strategy, named, allow_suppression)
        made = make_release_on_spark(people, plan, setting, ensure_new, progress)
        progress("writing")
        parts = written_parts(made, people.ids, setting)
        _move_public(made, writer)
        at = published_at or datetime.now(UTC)
        earlier_pairs = closest_pairs(opened, writer.releases)
        summary = summary_of(
            made.figures(),
            worst_before(opened, writer.releases, earlier_pairs, {}),
            has_registry=registry is not None,
            people=people.people,
            outside_registry=people.outside_registry,
            differing_from_registry=people.differing_from_registry,
            strategy=strategy,
            policy=policy,
            is_dated_back=is_dated_back(writer.releases, at),
        )
        with storage_errors(writer.staging):
            documents(
                RemoteDraft(
                    folder=writer.staging,
                    earlier=writer.releases,
                    earlier_pairs=earlier_pairs,
                    label=named,
                    published_at=at,
                    policy=policy,
                    strategy=strategy,
                    summary=summary,
                    value_list=people.value_list,
                    signer=signer,
                    measured=tuple(piece.measured for piece in made.pieces),
                )
            )
        notes = (
            *notes_on_unknown(writer.unknown_files),
            *notes_on_dates(summary),
            *notes_on_people(
                writer.releases, present=people.present, known_present=people.known_present
            ),
            *people.notes,
            *formulas,
            *advice(made.widths, policy),
        )
        record = writer.commit_written(
            parts, draft_of(policy, strategy, people.choice, named, at, digests[-1], summary)
        )
    folder = opened.path / "releases" / record.label
    return Published(record, folder, TablesOnDisk(folder), notes, people.value_list)


def _move_public(made: MadeOnSpark, writer: Writer) -> None:
    """Bring the public files to where they are published from: one file where there is one
    partition, otherwise a folder of that name, which readers of Parquet take for a file."""
    with storage_errors(writer.staging):
        for file in made.files:
            if file.kind in (GROUPS, VALUES):
                continue
            target = writer.staging / file.kind
            if len(made.pieces) > 1:
                ensure_folder(target)
                target = target / f"part-{file.number:05d}{target.suffix}"
            os.replace(file.path, target)


def _shown_values(ledger: LedgerFrames) -> list[str]:
    """What ``Series.protected_names`` gives, collected by the executors."""
    with cluster_errors("reading the values of earlier releases"):
        return [row.value for row in ledger.values().select("value").distinct().collect()]


def _link_gaps(setting: Setting) -> LinkGaps:
    """What ``Series.link_gaps`` gives, counted by the executors."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    if not setting.releases:
        return LinkGaps()
    of_pair = Window.partitionBy("person", "value").orderBy("release")
    following = f.lead("release").over(of_pair)
    links = (
        setting.ledger.members()
        .join(setting.ledger.values(), ["release", "group"])
        .select(
            f.row_number().over(of_pair).alias("link"),
            (f.coalesce(following, f.lit(setting.releases[-1].number)) - f.col("release")).alias(
                "gap"
            ),
            following.isNull().alias("is_last"),
        )
    )
    with cluster_errors("counting the links so far"):
        rows = links.groupBy("link", "gap", "is_last").agg(f.count("*").alias("pairs")).collect()
    return LinkGaps.of((row.link, row.gap, row.is_last, row.pairs) for row in rows)
