"""One release, from the table to the files: read, prepare, form groups, verify, commit, write."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.engines import Made, Plan, Progress, make_release, silently
from serigraph.errors import PolicyError
from serigraph.ledger import ReleaseDraft, ReleaseRecord, Series, storage_errors
from serigraph.policy import Policy, check_unchanged, read_policy
from serigraph.privacy.strategies import Strategy
from serigraph.privacy.thresholds import threshold_text
from serigraph.publishing.files import write_tables
from serigraph.publishing.standing import links_so_far
from serigraph.publishing.unpublished import Documents, Unpublished, without_documents
from serigraph.randomness import Randomness, SystemRandomness
from serigraph.recoding.tables import GROUP
from serigraph.tables import Prepared, ProtectedChoice, prepare, read_table

STAGES = (
    "reading",
    "preparing",
    "recalling",
    "forming groups",
    "verifying",
    "recoding",
    "writing",
    "committing",
)

_TOO_MUCH = 0.5  # of the quasi-identifiers' precision


@dataclass(frozen=True)
class Published:
    """What became of a table: the release, where its files are, and what they hold."""

    record: ReleaseRecord
    folder: Path
    tables: dict[str, pl.DataFrame]
    notes: tuple[str, ...]

    @property
    def figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = self.record.summary
        return figures


def publish(
    table: Any,
    series: str | os.PathLike[str] | Series,
    *,
    registry: Any = None,
    label: str = "",
    query: str = "",
    allow_suppression: bool = False,
    wait: float = 0.0,
    progress: Progress = silently,
    randomness: Randomness | None = None,
    documents: Documents = without_documents,
    published_at: datetime | None = None,
) -> Published:
    """Publish a table as the next release of a series.

    ``table`` and ``registry`` are paths or data frames (Polars, pandas, Arrow, DuckDB). The label
    defaults to the file's name, or to ``release-<number>``. ``documents`` writes further public
    files into the folder of the release, before it is committed. Raises `SerigraphError`; then
    nothing was published and nothing has changed.
    """
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    chance = randomness or SystemRandomness()
    with opened.writing(wait) as writer:
        policy = _policy_in_force(opened, writer.releases)
        named = label or _default_label(table, len(writer.releases) + 1)
        progress("reading")
        reading = policy.reading.model_copy(update={"query": query}) if query else policy.reading
        rows = read_table(table, reading)
        everybody = (
            None if registry is None else read_table(registry, policy.reading.for_registry())
        )
        progress("preparing")
        prepared = prepare(rows, policy, everybody, _known_choice(writer.releases))
        del rows, everybody  # a large part of the memory
        population = prepared.population
        writer.ensure_new(named, population.digest, population.ids)
        progress("recalling")
        history = opened.history(population.ids, [value.name for value in population.protected])
        strategy = policy.strategy_for(links_so_far(opened, policy))
        plan = Plan(
            label=named,
            strategy=strategy,
            form=policy.output.form,
            method=policy.output.method,
            minimum_size=policy.guarantee.minimum_group_size,
            is_presence_known=policy.guarantee.adversary == "presence known",
            allows_suppression=allow_suppression,
            sensitive=policy.sensitive.column,
        )
        made = make_release(population, history, plan, chance, progress)
        progress("writing")
        tables = _as_published(made.tables, policy)
        write_tables(writer.staging, tables, policy.output.files)
        at = published_at or datetime.now(UTC)
        summary = _summary(made, prepared, strategy, policy)
        with storage_errors(writer.staging):
            documents(
                Unpublished(
                    folder=writer.staging,
                    earlier=writer.releases,
                    label=named,
                    published_at=at,
                    policy=policy,
                    strategy=strategy,
                    made=made,
                    history=history,
                    history_ids=population.ids,
                    summary=summary,
                )
            )
        progress("committing")
        record = writer.commit(
            made.proof,
            ReleaseDraft(
                label=named,
                published_at=at,
                table_digest=population.digest,
                policy=policy.frozen(),
                protected=json.loads(prepared.protected_choice.to_json()),
                threshold=threshold_text(policy.threshold),
                strategy=strategy.to_text(),
                adversary=policy.guarantee.adversary,
                summary=summary,
            ),
        )
    return Published(
        record,
        opened.path / "releases" / record.label,
        tables,
        (*prepared.notes, *_advice(made, policy)),
    )


def _advice(made: Made, policy: Policy) -> tuple[str, ...]:
    """What would help where most of the precision is gone."""
    lost = sum(made.widths.values()) / max(len(made.widths), 1)
    if lost <= _TOO_MUCH or policy.output.form != "generalised":
        return ()
    return (
        f"{lost:.0%} of the precision is lost, because values are nearly as frequent as the "
        'guarantee allows: form = "bucketised" in [output] keeps the quasi-identifiers, and a '
        "registry, fewer releases or fewer protected values make regions smaller",
    )


def _policy_in_force(series: Series, releases: tuple[ReleaseRecord, ...]) -> Policy:
    path = series.path / "policy.toml"
    policy = read_policy(path)
    if releases:
        check_unchanged(releases[-1].policy, policy, path.read_text(encoding="utf-8"), str(path))
    if policy.output.form == "bucketised" and GROUP in policy.quasi_identifiers:
        raise PolicyError(
            f"a quasi-identifier is called {GROUP!r}, as the column that a bucketised release adds",
            where=str(path),
            remedy="rename the column in the table and in the policy",
        )
    return policy


def _default_label(table: Any, number: int) -> str:
    """The name of the file, with a dash for whatever the name of a folder cannot hold."""
    named = Path(table).name.split(".")[0] if isinstance(table, str | os.PathLike) else ""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", named).strip("_-") or f"release-{number}"


def _known_choice(releases: tuple[ReleaseRecord, ...]) -> ProtectedChoice | None:
    return ProtectedChoice.from_json(releases[-1].protected_json) if releases else None


def _as_published(tables: dict[str, pl.DataFrame], policy: Policy) -> dict[str, pl.DataFrame]:
    """Where the policy says that a person has one value, a cell holds that value and not a set."""
    if policy.output.form == "generalised" and policy.sensitive.form == "single":
        column = policy.sensitive.column
        return {
            name: table.with_columns(pl.col(column).list.first()) for name, table in tables.items()
        }
    return tables


def _summary(
    made: Made, prepared: Prepared, strategy: Strategy, policy: Policy
) -> dict[str, object]:
    return {
        **made.figures(),
        "people_outside_registry": prepared.population.outside_registry,
        "people_differing_from_registry": prepared.differing_from_registry,
        "form": policy.output.form,
        "method": policy.output.method,
        "strategy": strategy.describe(),
    }
