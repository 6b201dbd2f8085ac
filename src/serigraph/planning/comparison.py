"""Rehearses strategies, each on the same people, and says what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from serigraph.model import Past, Population, Standing, shares_of
from serigraph.planning.candidates import Candidate, candidates
from serigraph.planning.outlook import Cover, Outlook, fits, links_left
from serigraph.planning.recommendation import order
from serigraph.planning.rehearsal import Stage, rehearse
from serigraph.planning.returning import ASSUMED
from serigraph.policy import Policy
from serigraph.privacy.link_chances import LinkGaps

MOST_AT_FIRST = 1_000  # people of a sample: a series is begun in a few seconds
_RATIOS = 20  # links to show, at least


@dataclass(frozen=True)
class Outset:
    """What every rehearsal of a plan begins with."""

    policy: Policy
    population: Population  # with transient values alone
    sample: Population  # some of its people
    past: Past  # theirs
    standing: Standing | None  # of everybody in the ledger
    releases: int  # ahead
    return_rate: float

    @property
    def is_presence_known(self) -> bool:
        return self.policy.guarantee.adversary == "presence known"

    @property
    def cover(self) -> Cover:
        return Cover(
            int(self.population.present.sum()) if self.is_presence_known else self.population.size,
            self.policy.guarantee.known_members,
        )

    @property
    def shares(self) -> dict[str, float]:
        """The share of people who may hold each value, which the adaptive strategy looks at."""
        return shares_of(
            self.population,
            presence_known=self.is_presence_known,
            known_members=self.policy.guarantee.known_members,
        )

    @property
    def stage(self) -> Stage:
        return Stage(
            form=self.policy.output.form,
            method=self.policy.output.method,
            minimum_size=self.policy.guarantee.minimum_group_size,
            is_presence_known=self.is_presence_known,
            sensitive=next(iter(self.policy.sensitive_columns)),
            known_members=self.policy.guarantee.known_members,
            groups=self.policy.output.groups,
            blind=self.policy.guarantee.is_blind,
        )


def outlook_of(candidate: Candidate, outset: Outset) -> Outlook:
    """What a strategy requires, and what it gives in a rehearsal of all releases ahead."""
    cover, stands = outset.cover, outset.standing
    fitting = fits(_under(outset.population, outset.policy, candidate), candidate, cover)
    ratios = candidate.strategy.preview(candidate.threshold, max(outset.releases, _RATIOS))
    return Outlook(
        name=candidate.name,
        short_name=candidate.short_name,
        threshold=str(candidate.threshold),
        section=candidate.toml,
        is_policy=candidate.is_policy,
        releases=outset.releases,
        ratios=ratios,
        largest_share=cover.largest_share(ratios[0]),
        unfit=tuple(each for each in fitting if not each.fits),
        expected=rehearse(
            _under(outset.sample, outset.policy, candidate),
            outset.past,
            candidate.section.strategy,
            outset.stage,
            releases=outset.releases,
            return_rate=outset.return_rate,
        ),
        left=links_left(candidate, stands, cover, outset.releases),
    )


def first_outlooks(population: Population, policy: Policy, releases: int) -> tuple[Outlook, ...]:
    """All strategies in a series that has not begun, half of whose people come back each time; the
    best first, the policy's own before others that are as good."""
    population = replace(population, plain=pl.DataFrame())  # rehearsals need no plain columns
    sample, past = sampled(population, Past.none(population.size), MOST_AT_FIRST)
    outset = Outset(policy, population, sample, past, None, releases, ASSUMED)
    compared = candidates(
        policy,
        LinkGaps,
        outset.shares,
        releases=releases,
        return_rate=ASSUMED,
        thresholds=(),
        lengths=(),
        factors=(),
    )
    return tuple(sorted((outlook_of(each, outset) for each in compared), key=order))


def sampled(population: Population, past: Past, most: int) -> tuple[Population, Past]:
    """At most so many of the people, drawn at random, and their past."""
    if population.size <= most:
        return population, past
    kept = np.zeros(population.size, dtype=np.bool_)
    kept[np.random.default_rng(1).choice(population.size, most, replace=False)] = True
    return population.subset(kept), past.subset(kept)


def _under(population: Population, policy: Policy, candidate: Candidate) -> Population:
    """The population under the threshold of a candidate."""
    return replace(
        population,
        protected=tuple(
            value
            if value.name in policy.own_thresholds
            else replace(value, threshold=candidate.threshold)
            for value in population.protected
        ),
    )
