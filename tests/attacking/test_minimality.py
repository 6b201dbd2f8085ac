"""The method in every world, on neighbourhoods of a real table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from attacking.worlds import Tables, found, our_target, ours, policy, tables
from serigraph.attacking.evidence import Evidence, Truth
from serigraph.attacking.minimality import Minimality, chances_to_hold, worlds_alike
from serigraph.attacking.neighbourhoods import latest_problem, neighbourhoods
from serigraph.attacking.reading import Target
from serigraph.attacking.scoring import Guesses, run
from serigraph.ledger import Series
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import MEMBERS, read_part
from serigraph.model import Past, Population
from serigraph.policy import read_policy
from serigraph.policy.strategy import AdaptiveStrategy
from serigraph.tables import prepare


def test_worlds_that_give_other_groups_are_struck_off() -> None:
    """Six people in a row. The holder is put into a group with whoever comes next: of the pair
    (2, 3) only 2 can be the holder."""

    def regroup(holders: tuple[int, ...]) -> NDArray[np.int64]:
        groups = np.arange(6)
        groups[min(holders[0] + 1, 5)] = holders[0]
        return groups

    groups, worlds = worlds_alike(6, (2,), regroup)
    assert groups[2] == groups[3]
    assert worlds == [(2,)]
    assert chances_to_hold(worlds, 6).tolist() == [0, 0, 1, 0, 0, 0]


def test_a_holder_can_know_more_than_everybody_else() -> None:
    """Four people in one group, if (0, 1) or (2, 3) hold the value: to others each holds it with
    2/4, as the counts say, and to a holder the other one is certain."""

    def regroup(holders: tuple[int, ...]) -> NDArray[np.int64]:
        return np.zeros(4, dtype=np.int64) if sum(holders) in (1, 5) else np.arange(4)

    _, worlds = worlds_alike(4, (0, 1), regroup)
    assert chances_to_hold(worlds, 4).tolist() == [0.5] * 4
    assert chances_to_hold(worlds, 4, known=[0]).tolist() == [1, 1, 0, 0]


def narrower(population: Population, _past: Past) -> NDArray[np.int64]:
    """Blocks of six along the column in which the first holder's block is narrower."""
    holder = int(np.flatnonzero(np.diff(population.held_start))[0])
    tried = []
    for column in range(len(population.codes)):
        order = np.argsort(population.codes[column], kind="stable")
        group = np.empty(len(order), dtype=np.int64)
        group[order] = np.arange(len(order)) // 6
        mine = population.codes[:, group == group[holder]]
        tried.append((int((mine.max(axis=1) - mine.min(axis=1)).sum()), column, group))
    return min(tried, key=lambda each: each[:2])[2]


ATTACKS = (Minimality("minimality"), Minimality("minimality, by a holder", knows_itself=True))
of_each = pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.name)


@of_each
def test_it_succeeds_on_a_method_that_looks_at_holders(attack: Minimality, tmp_path: Path) -> None:
    """All worlds are run, so that what is believed is exact."""
    rules = read_policy(policy(tmp_path))
    population = prepare(tables(1, people=600, releases=1).releases[0], rules).population
    draw = np.random.default_rng(1)
    nothing = Past.none(population.size)
    near = neighbourhoods(population, nothing, narrower, draw)
    evidence = Evidence(population.size, ("a",), (rules.threshold,), (), 0, neighbourhoods=near)
    guessed = attack.guess(evidence, draw)
    assert isinstance(guessed, Guesses)
    assert guessed.by_chance is not None
    assert guessed.believed.sum() > 1.3 * guessed.by_chance.sum()
    assert (guessed.believed / guessed.by_chance).max() > 2
    finding = run(attack, evidence, Truth(evidence, (), ()), draw)
    assert finding.control == pytest.approx(1)


WAYS: dict[str, dict[str, str | int]] = {
    "presence known": {},
    "a registry": {"adversary": "presence unknown", "method": "bottom-up"},
    "exact quasi-identifiers": {"form": "bucketised", "groups": "regions", "strategy": "adaptive"},
    "a strategy that learns": {"strategy": "adaptive", "known": 1},
}


@dataclass(frozen=True)
class ThirdRelease:
    series: Series
    given: Tables
    target: Target


@pytest.fixture(scope="module", params=WAYS)
def third(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ThirdRelease:
    options = WAYS[request.param]
    given = tables(1, people=600, keeps=0.0)
    has_registry = "adversary" in options
    series = ours(tmp_path_factory.mktemp("ours"), given, registry=has_registry, **options)
    return ThirdRelease(series, given, our_target(series, given))


def test_the_method_makes_the_latest_release_again(third: ThirdRelease) -> None:
    """With everybody's past, what an adversary runs is what was run."""
    rules = read_policy(third.series.path / "policy.toml")
    hides_presence = rules.guarantee.adversary == "presence unknown"
    registry = third.given.registry if hides_presence else None
    layout, releases = Layout(third.series.path), third.series.releases()
    table = third.given.releases[-1]
    population, past, mechanism = latest_problem(layout, releases, rules, table, registry)
    assert past.releases == 2
    members = read_part(layout, releases[-1], MEMBERS).join(
        third.series.reader().people(), on="person"
    )
    published = dict(zip(members["id"].to_list(), members["group"].to_list(), strict=True))
    # Groups without anybody present are not in the ledger.
    recorded = [place for place, each in enumerate(population.ids) if each in published]
    assert len(recorded) >= table.height
    shown = numbered(published[population.ids[place]] for place in recorded)

    again = mechanism(population, past)
    assert again is not None
    assert numbered(again[recorded]) == shown
    assert not np.isin(np.delete(again, recorded), again[recorded]).any()
    if isinstance(rules.strategy, AdaptiveStrategy):  # the others ask the same of everybody here
        without = mechanism(population, Past.none(population.size))
        assert without is None or numbered(without[recorded]) != shown


def numbered(groups: Iterable[int]) -> list[int]:
    """The same groups, numbered as they come."""
    known: dict[int, int] = {}
    return [known.setdefault(int(each), len(known)) for each in groups]


@of_each
def test_it_fails_on_ours(attack: Minimality, third: ThirdRelease) -> None:
    """Nobody is believed in more than n_s/n says: every world gives the same groups."""
    guessed = attack.guess(third.target.evidence, np.random.default_rng(1))
    assert isinstance(guessed, Guesses)
    assert guessed.believed == pytest.approx(guessed.by_chance)
    finding = run(attack, third.target.evidence, third.target.truth, np.random.default_rng(1))
    assert finding.is_telling


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"form": "bucketised"}, "dealt by lot"), ({"persistence": "any"}, "unions of cohorts")],
)
def test_it_says_why_it_is_not_run(
    options: dict[str, str | int], reason: str, tmp_path: Path
) -> None:
    given = tables(1, people=300, releases=1)
    finding = found(our_target(ours(tmp_path, given, **options), given), "minimality")
    assert reason in finding.not_run
