"""The engine for one machine: every step of a release in memory, and its public tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from serigraph.engines.cohorts import CohortsBefore, check_cohorts_throughout
from serigraph.engines.compiling import ready_kernels
from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.engines.interface import (
    CohortTerms,
    Known,
    MadeFacts,
    Measure,
    PeopleFacts,
    Plan,
    VerifiedRelease,
    shown_values,
)
from serigraph.engines.linking import linked_rows
from serigraph.engines.local import make_release
from serigraph.errors import StorageError
from serigraph.ledger import ReleaseDraft, ReleaseRecord, Series, Writer
from serigraph.ledger.storage import new_file
from serigraph.model import KeptValues, Past
from serigraph.policy import Output, Policy
from serigraph.privacy.link_chances import LinkGaps
from serigraph.recoding import as_text
from serigraph.recoding.output import FORMATS, OutputFormat, texts_like_formulas
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.randomness import Randomness, SystemRandomness
from serigraph.runtime.threads import wait_interruptibly
from serigraph.short_repr import Undisclosed
from serigraph.tables import Prepared, ProtectedChoice, prepare, read_table
from serigraph.tables.look_alikes import check_ids, check_unique_columns

if TYPE_CHECKING:
    from serigraph.ledger.encoding import EncodedParts
from serigraph.ledger.layout import Layout


def write_tables(
    folder: Path,
    tables: Mapping[str, pl.DataFrame],
    output: Output,
    progress: Progress = no_progress,
) -> None:
    """Write every table in every format that the policy asks for."""
    files = list(product(tables, output.files))
    try:
        for done, (name, ending) in enumerate(files):
            progress("writing", done, len(files))
            path = folder / f"{name}.{ending}"
            new_file(path).close()
            FORMATS[ending].write(tables[name], path, output.formulas)
    except (OSError, pl.exceptions.ComputeError) as error:  # the latter from Parquet
        raise StorageError(
            "the tables of the release could not be written",
            where=str(folder),
            remedy="free space on the disk, or check its permissions, and publish again",
        ) from error


class TablesInMemory(Mapping[str, pl.DataFrame]):
    """The tables of a release, with codes decoded to text."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> pl.DataFrame:
        return as_text(self._tables[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


class TablesOnDisk(Mapping[str, pl.DataFrame]):
    """The tables of a release that may exceed memory. The disk is read when one is asked for, not
    before: if it fails right after the commit, the release is out all the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _files(self) -> dict[str, tuple[Path, OutputFormat]]:
        return {
            path.name.removesuffix(f".{ending}"): (path, form)
            for ending, form in FORMATS.items()  # the last one wins
            for path in sorted(self._folder.glob(f"*.{ending}"))
        }

    def __getitem__(self, name: str) -> pl.DataFrame:
        path, form = self._files[name]
        parts = sorted(path.iterdir()) if path.is_dir() else [path]
        return pl.concat([form.read(part) for part in parts])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


@contextmanager
def workplace(
    series: Series, *, wait: float, measure: Measure, progress: Progress
) -> Iterator[_Workplace]:
    """The workplace of one release; see ``Engine.workplace``."""
    kernels = ready_kernels(progress)
    with series.writing(wait) as writer, ThreadPoolExecutor(1) as meanwhile:
        yield _Workplace(series, writer, meanwhile, kernels, measure)


@dataclass(frozen=True)
class _Workplace:
    series: Series
    writer: Writer
    meanwhile: ThreadPoolExecutor
    kernels: Future[None]
    measure: Measure

    def read(self, table: Any, registry: Any, policy: Policy, query: str) -> _Sources:
        reading = policy.reading.asking(query)
        rows = read_table(table, reading)
        everybody = (
            None if registry is None else read_table(registry, policy.reading.for_registry())
        )
        return _Sources(self, policy, rows, everybody)


@dataclass(frozen=True, repr=False)
class _Sources(Undisclosed):
    place: _Workplace
    policy: Policy
    table: pl.DataFrame
    registry: pl.DataFrame | None

    def prepare(self, known: ProtectedChoice | None, progress: Progress) -> _People:
        prepared = prepare(self.table, self.policy, self.registry, known, progress)
        return _People(self.place, self.policy, prepared)


@dataclass(frozen=True, repr=False)
class _People(Undisclosed):
    place: _Workplace
    policy: Policy
    prepared: Prepared

    @property
    def facts(self) -> PeopleFacts:
        prepared, population = self.prepared, self.prepared.population
        return PeopleFacts(
            people=population.size,
            present=int(np.count_nonzero(population.present)),
            outside_registry=population.outside_registry,
            differing_from_registry=prepared.differing_from_registry,
            domains=population.domains,
            choice=prepared.protected_choice,
            value_list=prepared.value_list,
            notes=prepared.notes,
            plain_texts=texts_like_formulas(population.plain),
        )

    def values_before(self) -> Sequence[str]:
        return self.place.writer.ledger.protected_names()

    def check_unique_columns(self, where: str) -> None:
        check_unique_columns(self.prepared.population, self.policy, where)

    def recall(self, label: str, progress: Progress) -> _Recalled:
        population, writer = self.prepared.population, self.place.writer
        wait_interruptibly(self.place.kernels)
        writer.ensure_new(label, population.digest, population.ids)
        progress("recalling")
        past = writer.history(population.ids, population.protected_names, progress)
        if not writer.releases:
            return _Recalled(self.place, self.prepared, past, Known(0, 0))
        is_known, present = writer.are_known(), population.present
        new = population.ids.filter(pl.Series(~is_known))
        check_ids(new, lambda: self.place.writer.ledger.people()["id"], self.policy)
        known = Known(
            present=int(np.count_nonzero(is_known & present)),
            absent=int(np.count_nonzero(is_known & ~present)),
        )
        return _Recalled(self.place, self.prepared, past, known)


@dataclass(frozen=True, repr=False)
class _Recalled(Undisclosed):
    place: _Workplace
    prepared: Prepared
    past: Past
    known: Known

    @property
    def digest(self) -> str:
        return self.prepared.population.digest

    def kept_values(self) -> KeptValues:
        population, writer = self.prepared.population, self.place.writer
        names = [value.name for value in population.protected if not value.persists]
        if not writer.releases or not names:
            return KeptValues({})
        return writer.ledger.kept_values(names, population, writer.numbers())

    def link_gaps(self) -> LinkGaps:
        return self.place.writer.ledger.link_gaps()

    def make(self, plan: Plan, randomness: Randomness | None, progress: Progress) -> _Unwritten:
        population, writer = self.prepared.population, self.place.writer
        made = make_release(
            population,
            self.past,
            ledger_on_disk(Layout(self.place.series.path), writer.releases),
            plan,
            randomness or SystemRandomness(),
            progress,
            None if plan.cohorts is None else self._before(plan.cohorts),
        )
        return _Unwritten(self.place, plan, self.past, population.ids, made)

    def _before(self, terms: CohortTerms) -> CohortsBefore | None:
        """What the ledger knows of cohorts; None before the first release."""
        writer = self.place.writer
        if not writer.releases:
            return None
        check_cohorts_throughout(writer.releases)
        shown = tuple(terms.protect(name) for name in writer.ledger.protected_names())
        recorded = writer.ledger.cohorts([value.name for value in shown if value.persists])
        return CohortsBefore(recorded, writer.attendance(), shown)


@dataclass(frozen=True, repr=False)
class _Unwritten(Undisclosed):
    place: _Workplace
    plan: Plan
    past: Past
    past_ids: pl.Series  # of the people in the past
    made: VerifiedRelease

    @property
    def facts(self) -> MadeFacts:
        made, shown = self.made, shown_values(self.made.proof)
        return MadeFacts(
            figures={**made.figures(), **self._linked()},
            widths=made.widths,
            gap_risks={gap.value: gap.risk for gap in made.proof.gaps},
            thresholds_left=made.thresholds_left(),
            withdrawn=tuple(gap.value for gap in made.proof.gaps if gap.value not in shown),
            left_out=0 if made.cohorts is None else made.cohorts.left_out,
        )

    def _linked(self) -> dict[str, object]:
        layout, columns = Layout(self.place.series.path), self.made.population.plain.columns
        if not columns:
            return {}
        return linked_rows(self.made.tables, columns, layout, self.place.writer.releases)

    def write(self, output: Output, progress: Progress) -> _Staged:
        writer, made = self.place.writer, self.made
        encoded = self.place.meanwhile.submit(writer.encode, made.proof)
        write_tables(writer.staging, made.tables, output, progress)
        measured = self.place.measure(made, self.plan, self.past, self.past_ids)
        return _Staged(writer, encoded, made.tables, (measured,))


@dataclass(frozen=True, repr=False)
class _Staged(Undisclosed):
    writer: Writer
    being_encoded: Future[EncodedParts]
    public: Mapping[str, pl.DataFrame]
    measured: tuple[Any, ...]

    def encoded(self) -> EncodedParts:
        return self.being_encoded.result()

    def commit(self, draft: ReleaseDraft) -> ReleaseRecord:
        return self.writer.commit(self.encoded(), draft)

    def tables(self, _folder: Path) -> Mapping[str, pl.DataFrame]:
        return TablesInMemory(self.public)
