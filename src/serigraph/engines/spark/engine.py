"""The engine for a cluster: every step of a release as Spark does it.

Spark reads, partitions and writes; the commit stays one transaction of the catalog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from serigraph.engines.choosing import Spark, is_spark_frame, no_drafts
from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.engines.interface import Known, MadeFacts, Measure, PeopleFacts, Plan
from serigraph.engines.one_machine import TablesOnDisk, write_tables
from serigraph.engines.spark.auditor import AuditorOnSpark
from serigraph.engines.spark.cells import REGISTRY, TABLE
from serigraph.engines.spark.digests import comparing_on
from serigraph.engines.spark.exporting import export_on_spark
from serigraph.engines.spark.keeping import PersistedFrames
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.engines.spark.members import written_parts
from serigraph.engines.spark.partitions import PEOPLE
from serigraph.engines.spark.people import PeopleOnSpark, check_unique_columns_on_spark, read_people
from serigraph.engines.spark.release import (
    MadeOnSpark,
    Placed,
    SparkRun,
    make_release_on_spark,
    place_people,
)
from serigraph.engines.spark.session import check_executors, spark_session
from serigraph.engines.spark.sources import table_frame
from serigraph.engines.spark.verifier_ledger import VerifierFrames
from serigraph.errors import InputRefused
from serigraph.ledger import (
    ReleaseDraft,
    ReleaseRecord,
    Series,
    Writer,
    WrittenParts,
    storage_errors,
)
from serigraph.ledger.encoding import EncodedParts
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import GROUPS, VALUES
from serigraph.ledger.storage import ensure_folder, make_folder, move_durably
from serigraph.model import KeptValues
from serigraph.policy import Output, Policy
from serigraph.privacy.link_chances import LinkGaps
from serigraph.runtime.progress import Progress
from serigraph.runtime.randomness import Randomness
from serigraph.short_repr import Undisclosed
from serigraph.tables import ProtectedChoice
from serigraph.tables.columns import roles_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PATIENCE = 90.0  # seconds for the executors of a session started elsewhere to answer


@contextmanager
def workplace(
    series: Series, table: Any, engine: Spark, *, wait: float, measure: Measure
) -> Iterator[_Workplace]:
    """The workplace of one release; see ``Engine.workplace``."""
    with (
        _session_of(table, engine) as session,
        PersistedFrames() as kept,
        series.writing(wait, comparing_on(session)) as writer,
    ):
        yield _Workplace(engine, session, series, writer, kept, measure)


def _session_of(table: Any, engine: Spark) -> AbstractContextManager[SparkSession]:
    if is_spark_frame(table):
        check_executors(table.sparkSession, _PATIENCE)
        return nullcontext(table.sparkSession)
    return spark_session(engine.master, settings=engine.settings)


@contextmanager
def auditor(series: Series, engine: Spark) -> Iterator[AuditorOnSpark]:
    """The reader of a series for an audit; see ``Engine.auditor``."""
    with spark_session(engine.master, settings=engine.settings) as session:
        yield AuditorOnSpark(session, series)


def export(series: Series, folder: Path, engine: Spark) -> None:
    """Write the ledger; see ``Engine.export``."""
    with spark_session(engine.master, settings=engine.settings) as session:
        export_on_spark(session, series, folder)


def check_policy(policy: Policy) -> None:
    """Refuse what Spark cannot do, before anything is read."""
    others = {
        "with values that persist": ("[protected.persistence]", policy.has_persisting_values),
        "against an adversary who knows members of groups": (
            "known_members in [guarantee]",
            policy.guarantee.known_members > 0,
        ),
        "whose cells are cut blind": ("cuts in [guarantee]", policy.guarantee.is_blind),
        "whose sensitive values are numbers or dates": (
            "kind in [sensitive]",
            any(column.kind != "text" for column in policy.sensitive_columns.values()),
        ),
        "with several sensitive columns, or with plain ones,": (
            "[sensitive] and [plain]",
            policy.shows_records,
        ),
    }
    for what, (where, is_asked) in others.items():
        if is_asked:
            passing = ', or set the persistence of all values to "transient" if they change freely'
            raise InputRefused(
                f"releases {what} are made on one machine",
                where=where,
                remedy="omit --engine (engine in Python)" + passing * policy.has_persisting_values,
            )


@dataclass(frozen=True)
class _Workplace:
    engine: Spark
    session: SparkSession
    series: Series
    writer: Writer
    kept: PersistedFrames
    measure: Measure

    def read(self, table: Any, registry: Any, policy: Policy, query: str) -> _Sources:
        check_policy(policy)
        reading = policy.reading.asking(query)
        roles = roles_of(policy)
        frames = {TABLE: table_frame(self.session, table, reading, roles)}
        if registry is not None:
            listed = policy.reading.for_registry()
            frames[REGISTRY] = table_frame(self.session, registry, listed, roles)
        with storage_errors(self.writer.attempts):
            make_folder(self.writer.attempts)
        layout, releases = Layout(self.series.path), self.writer.releases
        run = SparkRun(
            session=self.session,
            ledger=LedgerFrames(self.session, layout, releases),
            for_verifier=VerifierFrames(self.session, ledger_on_disk(layout, releases)),
            releases=releases,
            drafts=self.writer.attempts,
            partition_people=self.engine.partition_people or PEOPLE,
            kept=self.kept,
            measure=self.measure,
            write=_WritePublic(policy.output),
        )
        return _Sources(self.writer, run, policy, frames)


@dataclass(frozen=True)
class _WritePublic:
    """Writes the tables of one partition, in the formats of the policy."""

    output: Output

    def __call__(self, folder: Path, own: str, tables: dict[str, pl.DataFrame]) -> list[Path]:
        named = {f"{own}-{name}": table for name, table in tables.items()}
        write_tables(folder, named, self.output)
        return [folder / f"{name}.{ending}" for name in named for ending in self.output.files]


@dataclass(frozen=True)
class _Sources:
    writer: Writer
    run: SparkRun
    policy: Policy
    frames: Mapping[str, DataFrame]

    def prepare(self, known: ProtectedChoice | None, _progress: Progress) -> _People:
        run = self.run
        people = read_people(self.frames, self.policy, run.ledger, run.releases, known, run.kept)
        return _People(self.writer, run, self.policy, people)


@dataclass(frozen=True)
class _People:
    writer: Writer
    run: SparkRun
    policy: Policy
    everybody: PeopleOnSpark

    @property
    def facts(self) -> PeopleFacts:
        people = self.everybody
        return PeopleFacts(
            people=people.people,
            present=people.present,
            outside_registry=people.outside_registry,
            differing_from_registry=people.differing_from_registry,
            domains=people.domains,
            choice=people.choice,
            value_list=people.value_list,
            notes=people.notes,
        )

    def values_before(self) -> Sequence[str]:
        return self.run.ledger.shown_values()

    def check_unique_columns(self, where: str) -> None:
        check_unique_columns_on_spark(self.everybody, self.policy, where)

    def recall(self, label: str, progress: Progress) -> _Recalled:
        placed = place_people(
            self.everybody,
            is_presence_known=self.policy.guarantee.adversary == "presence known",
            run=self.run,
            progress=progress,
        )
        self.writer.ensure_new(label, placed.digest, self.everybody.ids)
        return _Recalled(self.writer, self.run, placed)


@dataclass(frozen=True)
class _Recalled:
    writer: Writer
    run: SparkRun
    placed: Placed

    @property
    def digest(self) -> str:
        return self.placed.digest

    @property
    def known(self) -> Known:
        people = self.placed.everybody
        return Known(people.known_present, people.known_absent)

    def kept_values(self) -> KeptValues:
        """Who held what is not recorded on a cluster, so nothing can be measured."""
        return KeptValues({}, tuple(release.number for release in self.run.releases))

    def link_gaps(self) -> LinkGaps:
        return self.run.ledger.link_gaps()

    def make(self, plan: Plan, _randomness: Randomness | None, progress: Progress) -> _Unwritten:
        made = make_release_on_spark(self.placed, plan, self.run, progress)
        return _Unwritten(self.writer, self.run, self.placed.everybody.ids, made)


@dataclass(frozen=True, repr=False)
class _Unwritten(Undisclosed):
    writer: Writer
    run: SparkRun
    ids: pl.Series  # empty: only its type matters
    made: MadeOnSpark

    @property
    def facts(self) -> MadeFacts:
        return MadeFacts(self.made.figures(), self.made.widths, {}, {}, ())

    def write(self, _output: Output, _progress: Progress) -> _Staged:
        parts = written_parts(self.made, self.ids, self.run)
        _move_public(self.made, self.writer.staging)
        return _Staged(self.writer, parts, tuple(piece.measured for piece in self.made.pieces))


def _move_public(made: MadeOnSpark, staging: Path) -> None:
    """Move the public files to where they are published from: a file if there is one partition,
    otherwise a folder of that name, which Parquet readers treat as a file."""
    with storage_errors(staging):
        moves = []
        for file in made.files:
            if file.kind in (GROUPS, VALUES):
                continue
            target = staging / file.kind
            if len(made.pieces) > 1:
                ensure_folder(target)
                target = target / f"part-{file.number:05d}{target.suffix}"
            moves.append((file.path, target))
        move_durably(moves)


@dataclass(frozen=True)
class _Staged:
    writer: Writer
    parts: WrittenParts
    measured: tuple[Any, ...]

    def encoded(self) -> EncodedParts:
        raise no_drafts()

    def commit(self, draft: ReleaseDraft) -> ReleaseRecord:
        return self.writer.commit_written(self.parts, draft)

    def tables(self, folder: Path) -> Mapping[str, pl.DataFrame]:
        return TablesOnDisk(folder)
