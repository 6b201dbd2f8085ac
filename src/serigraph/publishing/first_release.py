"""What a first release costs where values persist and there is no registry."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from serigraph.errors import InputRefused
from serigraph.model import Cohorts
from serigraph.policy import parse_policy
from serigraph.runtime.randomness import SeededRandomness


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
    # These load compiled code, which `init` does without otherwise.
    from serigraph.cohorts import Rules, TooManyHolders, arrange_once
    from serigraph.tables import prepare

    with tempfile.TemporaryDirectory() as folder:
        for path, data in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_bytes(data)
        try:
            policy = parse_policy(policy_text, "policy.toml", folder)
            population = prepare(table, policy).population
        except InputRefused:
            return None
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
