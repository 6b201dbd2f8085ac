"""What a plan recommends: the best row of its own table, as a section that can be pasted."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import serigraph
from model.settings import unhurried
from publishing.clinic import COMMON, RARE, clinic, new_series, policy_text
from serigraph.errors import Infeasible
from serigraph.ledger import Series
from serigraph.planning import Expected, Outlook, SeriesPlan, ValueFit
from serigraph.planning.recommendation import recommend
from serigraph.policy import read_policy
from serigraph.runtime.randomness import SeededRandomness


def beats(one: Outlook, other: Outlook) -> bool:
    """Whether a reader of the table would say that one row is better, figure by figure."""
    needs = [bool(row.unfit) or row.suppressed_share > 0 for row in (one, other)]
    if needs[0] != needs[1]:
        return not needs[0]
    for form, figures in (
        ("{:.4f}", (one.suppressed_share, other.suppressed_share)),
        ("{:.0f}", (one.mean_size, other.mean_size)),
        ("{:.3f}", (one.lost_precision, other.lost_precision)),
    ):
        mine, theirs = (float(form.format(figure)) for figure in figures)
        if mine != theirs:
            return mine < theirs
    return False


def expected() -> st.SearchStrategy[Expected]:
    shares = st.sampled_from([0.0, 0.0, 0.0001, 0.3, 1.0])
    return st.builds(Expected, st.floats(1, 200), st.integers(1, 200), shares, st.floats(0, 1))


@st.composite
def outlooks(draw: st.DrawFn) -> list[Outlook]:
    releases = draw(st.integers(1, 4))
    unfit = st.sampled_from([(), (), (ValueFit("a", 0.5, 0.1),)])
    return [
        Outlook(
            name=f"row {number}",
            short_name=f"row {number}",
            threshold=draw(st.sampled_from(["1/2", "1/3"])) if number else "1/2",
            section=f"section {number}",
            is_policy=number == 0,
            releases=releases,
            ratios=(4.0,) * releases,
            largest_share=0.25,
            unfit=draw(unfit),
            expected=tuple(draw(st.lists(expected(), max_size=releases))),
            left=(),
        )
        for number in range(draw(st.integers(1, 6)))
    ]


@unhurried
@given(outlooks())
def test_no_row_beats_the_recommended_one(rows: list[Outlook]) -> None:
    found = recommend(rows, "1/2")
    best = next(row for row in rows if row.name == found.name)
    assert found.section == best.section
    assert best.threshold == "1/2"
    mine = [row for row in rows if row.threshold == "1/2"]
    assert not any(beats(row, best) for row in mine)
    if not any(beats(row, rows[0]) for row in mine):
        assert best is rows[0], "the policy stays where nothing is better"
    if best.needs_suppression:
        assert all(row.needs_suppression for row in mine)
        assert "Every strategy compared needs suppression" in found.reason


def test_a_strategy_with_large_late_ratios_is_not_left_out() -> None:
    """The geometric ratios pass the number of people long before the last release; as long as the
    rehearsal gets by without, that is no reason to recommend a strategy that suppresses."""

    def row(name: str, suppressed: float, ratios: tuple[float, ...], unfit: int) -> Outlook:
        return Outlook(
            name=name,
            short_name=name,
            threshold="1/2",
            section="",
            is_policy=unfit > 0,
            releases=3,
            ratios=ratios,
            largest_share=0.1,
            unfit=(ValueFit("a", 0.2, 0.1),) * unfit,
            expected=(Expected(30, 60, suppressed, 0.1),) * 3,
            left=(),
        )

    constant = row("constant", 0.73, (29.4,) * 3, 7)
    geometric = row("geometric", 0.0, (4, 6, 10**6), 0)
    found = recommend([constant, geometric], "1/2")
    assert found.name == "geometric"
    assert "nothing was suppressed" in found.reason


def with_section(series: Series, section: str) -> None:
    """Paste a section into the policy in place of the one that is there."""
    path = series.path / "policy.toml"
    text = re.sub(r"\[strategy\]\n(?:\w.*\n)*", "", path.read_text())
    path.write_text(f"{text}\n{section}\n")


def check(made: SeriesPlan, series: Series, table: pl.DataFrame, seed: int) -> None:
    """The recommended row is the best, and its section is taken and does what was rehearsed."""
    threshold = str(read_policy(series.path / "policy.toml").threshold)
    mine = [row for row in made.outlooks if row.threshold == threshold]
    best = next(row for row in mine if row.name == made.recommendation.name)
    assert not any(beats(row, best) for row in mine)
    with_section(series, made.recommendation.section)
    strategy = read_policy(series.path / "policy.toml").strategy_for(series.link_gaps)
    assert best.name.startswith(strategy.describe())
    chance = SeededRandomness(seed)
    if best.unfit or not best.expected or best.expected[0].suppressed_share:
        with pytest.raises(Infeasible):
            serigraph.publish(table, series, label=f"next-{seed}", randomness=chance)
        return
    release = serigraph.publish(table, series, label=f"next-{seed}", randomness=chance)
    assert release.figures["suppressed_values"] == 0
    assert release.record.strategy == strategy.to_text()


@pytest.mark.parametrize("seed", range(8))
def test_plans_before_and_after_releases(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    tables = clinic(
        releases=4,
        people=400,
        registered=1200,
        seed=seed,
        returning=draw.choice([0.3, 0.8]),
        protected_share=draw.choice([0.05, 0.2, 0.5]),
    ).tables
    text = policy_text(
        strategy=draw.choice(['name = "constant"\nreleases = 20', 'name = "schedule"']),
        output=f'form = "{draw.choice(["generalised", "bucketised"])}"',
        guarantee=f'threshold = "{draw.choice(["1/2", "1/4"])}"',
    )
    series = new_series(tmp_path / "clinic", text)
    total = draw.choice([4, 8])
    for number, table in enumerate(tables):
        made = serigraph.plan(table, series, releases=total, factors=["3/2", 2])
        assert made.releases_so_far == len(series.releases())
        assert made.releases_ahead == total - made.releases_so_far
        check(made, series, table, number)


@pytest.mark.parametrize(
    "strategy",
    [
        'name = "constant"\nreleases = 7\nreplan = false',
        'name = "geometric"\nfactor = "4/3"',
        'name = "schedule"\nreleases = 12',
        'name = "schedule"\nlink_chances = [1, 0.5, "1/3", 0.000001]\nreplan = false',
    ],
)
def test_a_section_reads_back_as_it_was(tmp_path: Path, strategy: str) -> None:
    series = new_series(tmp_path / "clinic", policy_text(strategy=strategy))
    policy = read_policy(series.path / "policy.toml")
    with_section(series, policy.strategy.toml())
    assert read_policy(series.path / "policy.toml").strategy == policy.strategy


def test_thresholds_are_written_as_in_a_policy(tmp_path: Path) -> None:
    table = clinic(releases=1, people=200, registered=300, seed=1).tables[0]
    assert table["diagnosis"].is_in(RARE).any()
    series = new_series(tmp_path / "clinic", policy_text())
    made = serigraph.plan(
        table, series, releases=2, thresholds=["1/3", 4, "l=5", "20%", Fraction(1, 6)]
    )
    assert {row.threshold for row in made.outlooks} == {"1/2", "1/3", "1/4", "1/5", "1/6"}


def test_numbers_are_those_that_people_type(tmp_path: Path) -> None:
    table = clinic(releases=1, people=200, registered=300, seed=1).tables[0]
    series = new_series(tmp_path / "clinic", policy_text())

    def compared(given: Any) -> set[str]:
        made = serigraph.plan(table, series, releases=2, thresholds=given, factors=2.5)
        return {row.threshold for row in made.outlooks} - {"1/2"}

    assert compared(0.3) == compared([0.3]) == compared("0.3") == {"3/10"}  # not 0.299999...
    assert compared(3) == compared([3]) == compared(("1/3",)) == {"1/3"}
    assert compared(np.float64(0.1)) == {"1/10"}


@pytest.mark.parametrize(
    ("people", "protected_share", "protected"),
    [
        (2, 0.5, 'values = "all"'),
        (7, 0.3, f"except = {list(COMMON)}"),
        (40, 1.0, 'values = "all"'),  # everybody holds one of few values
        (300, 1.0, f"except = {list(COMMON)}"),
        (300, 0.02, f"except = {list(COMMON)}"),
    ],
)
def test_no_table_contradicts_its_plan(
    tmp_path: Path, people: int, protected_share: float, protected: str
) -> None:
    """Tiny tables, common values and rare ones: the best row, whatever it is, and what it costs."""
    table = clinic(
        releases=1, people=people, registered=people, seed=people, protected_share=protected_share
    ).tables[0]
    series = new_series(tmp_path / "clinic", policy_text(protected=protected))
    made = serigraph.plan(table, series, releases=3)
    best = next(row for row in made.outlooks if row.name == made.recommendation.name)
    assert not any(beats(row, best) for row in made.outlooks)
    assert made.recommendation.section == best.section
    says_nothing_was = "nothing was suppressed" in made.recommendation.reason
    assert says_nothing_was == (not best.unfit and best.suppressed_share == 0)
    if best.expected:
        assert f"had {best.mean_size:,.0f} people on average" in made.recommendation.reason
