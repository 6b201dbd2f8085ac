"""The method in every world, on neighbourhoods of a real table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from attacking.worlds import policy, tables
from serigraph.attacking.evidence import Evidence, Truth
from serigraph.attacking.minimality import Minimality, chances_to_hold, worlds_alike
from serigraph.attacking.neighbourhoods import Mechanism, neighbourhoods, our_mechanism
from serigraph.attacking.scoring import Guesses, run
from serigraph.model import Population
from serigraph.policy import read_policy
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


def narrower(population: Population) -> NDArray[np.int64]:
    """Blocks of six along the column in which the first holder's block is narrower."""
    holder = int(np.flatnonzero(np.diff(population.held_start))[0])
    found = []
    for column in range(len(population.codes)):
        order = np.argsort(population.codes[column], kind="stable")
        group = np.empty(len(order), dtype=np.int64)
        group[order] = np.arange(len(order)) // 6
        mine = population.codes[:, group == group[holder]]
        found.append((int((mine.max(axis=1) - mine.min(axis=1)).sum()), column, group))
    return min(found, key=lambda each: each[:2])[2]


ATTACKS = (Minimality("minimality"), Minimality("minimality, by a holder", knows_itself=True))
of_each = pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.name)


def guessed(
    attack: Minimality, folder: Path, seed: int, mechanism: Mechanism | None = None
) -> Guesses:
    rules = read_policy(policy(folder))
    population = prepare(tables(seed, people=600, releases=1).releases[0], rules).population
    method = mechanism or our_mechanism(rules)
    assert method is not None
    draw = np.random.default_rng(seed)
    near = neighbourhoods(population, method, population.ids, draw)
    evidence = Evidence(population.size, ("a",), (rules.threshold,), (), 0, neighbourhoods=near)
    found = attack.guess(evidence, draw)
    assert isinstance(found, Guesses)
    finding = run(attack, evidence, Truth(evidence, (), ()), draw)
    assert 0 < finding.guessed <= len(found.person)
    assert finding.control == pytest.approx(1)
    return found


@of_each
def test_it_succeeds_on_a_method_that_looks_at_holders(attack: Minimality, tmp_path: Path) -> None:
    """All worlds are run, so that what is believed is exact."""
    found = guessed(attack, tmp_path, 1, narrower)
    assert found.by_chance is not None
    assert found.believed.sum() > 1.3 * found.by_chance.sum()
    assert (found.believed / found.by_chance).max() > 2


@of_each
def test_it_fails_on_ours(attack: Minimality, tmp_path: Path) -> None:
    """Nobody is believed in more than n_s/n says: every world gives the same groups."""
    for seed in (1, 2):
        found = guessed(attack, tmp_path, seed)
        assert found.believed == pytest.approx(found.by_chance)
