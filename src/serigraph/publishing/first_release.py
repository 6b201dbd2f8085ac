"""What a proposed policy costs on its own table: a rehearsal before there is a series."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from serigraph.errors import InputRefused
from serigraph.model import Cohorts, Population
from serigraph.policy import Policy, parse_policy
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.randomness import SeededRandomness
from serigraph.runtime.threads import wait_interruptibly

if TYPE_CHECKING:
    from serigraph.planning import Outlook


@dataclass(frozen=True)
class ShownOnce:
    """What becomes of the people of a table in which every protected value is shown once."""

    people: int
    leaving: int  # are published in this release and never again
    withheld: int  # records left out beside a value

    def words(self) -> str:
        """
        >>> print(ShownOnce(16, 16, 11).words())
        here all 16 people after the first release, and 11 of their records are not shown at all
        """
        some = "all" if self.leaving == self.people else f"{self.leaving:,} of"
        withheld = f", and {self.withheld:,} of their records are not shown at all"
        return f"here {some} {self.people:,} people after the first release" + withheld * bool(
            self.withheld
        )


def shown_once(
    table: pl.DataFrame, policy_text: str, files: Mapping[str, bytes]
) -> ShownOnce | None:
    """Rehearse the first release of a policy and the files that it refers to; None if the table
    cannot be published, for reasons that ``publish`` will tell."""
    # This loads compiled code.
    from serigraph.cohorts import Rules, TooManyHolders, arrange_once

    read = _prepared(table, policy_text, files)
    if read is None:
        return None
    policy, population = read
    rules = Rules(
        size=policy.cohort_size,
        known=policy.guarantee.known_members,
        least=policy.guarantee.minimum_group_size,
        thresholds={value.name: value.threshold for value in population.protected},
    )
    past = np.zeros(population.size, dtype=np.int64)
    try:
        made = arrange_once(
            population, Cohorts.none(population.ids), past, rules, SeededRandomness(1)
        )
    except TooManyHolders:
        return None
    if not made.population.size:
        return None
    records = int(np.count_nonzero(made.population.present))
    return ShownOnce(population.size, len(made.retired), int(made.kept.sum()) - records)


def strategies(
    table: pl.DataFrame,
    policy_text: str,
    files: Mapping[str, bytes],
    releases: int,
    progress: Progress = no_progress,
) -> tuple[Outlook, ...]:
    """All strategies, rehearsed under a policy of transient values, the best first; none if the
    table cannot be published, for reasons that ``publish`` will tell."""
    from serigraph.engines.compiling import ready_kernels
    from serigraph.planning.comparison import first_outlooks

    read = _prepared(table, policy_text, files)
    if read is None:
        return ()
    wait_interruptibly(ready_kernels(progress))
    progress("rehearsing")
    policy, population = read
    return first_outlooks(population, policy, releases)


def _prepared(
    table: pl.DataFrame, policy_text: str, files: Mapping[str, bytes]
) -> tuple[Policy, Population] | None:
    from serigraph.tables import prepare

    with tempfile.TemporaryDirectory() as folder:
        for path, data in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_bytes(data)
        try:
            policy = parse_policy(policy_text, "policy.toml", folder)
            return policy, prepare(table, policy).population
        except InputRefused:
            return None
