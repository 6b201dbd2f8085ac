"""The first plan: every value that fits is protected, and what is proposed can be published."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import serigraph
from model.settings import about
from serigraph.errors import TableError
from serigraph.policy import Persistence
from serigraph.privacy.strategies import ConstantRatio
from serigraph.publishing.first_plan import SPARE, THRESHOLD, FirstPlan, first_plan
from serigraph.publishing.proposal import MINIMUM_GROUP_SIZE


def plan_for(people: int, **holders: int) -> FirstPlan:
    held = pl.DataFrame({"value": list(holders), "people": list(holders.values())})
    return first_plan(held, people, "diagnosis")


@pytest.mark.parametrize(
    ("people", "holders", "releases", "excepted"),
    [
        (1000, {"a": 20, "b": 5}, 20, []),
        (1000, {"a": 100, "b": 5}, 5, []),
        (1000, {"a": 230, "b": 5}, 2, []),
        (1000, {"a": 240, "b": 20}, 20, ["a"]),
        (1000, {"a": 600, "b": 200, "c": 30}, 2, ["a"]),
        (1000, {"a": 350, "b": 330, "c": 320}, 1, []),
        (1000, {"a": 520, "b": 480}, 1, ["a"]),
        (16, {"influenza": 7, "fracture": 4, "bronchitis": 3, "chlamydia": 2}, 2, None),
    ],
)
def test_protection_comes_before_length(
    people: int, holders: dict[str, int], releases: int, excepted: list[str] | None
) -> None:
    plan = plan_for(people, **holders)
    assert plan.releases == releases
    assert list(plan.excepted) == (["influenza", "fracture"] if excepted is None else excepted)


@pytest.mark.parametrize(
    ("holders", "excepted"),
    [
        ({"a": 20, "b": 5}, []),
        ({"a": 390, "b": 200, "c": 30}, []),
        ({"a": 410, "b": 200, "c": 30}, ["a"]),
        ({"a": 520, "b": 480}, ["a"]),
    ],
)
def test_a_value_that_is_shown_once_has_to_fit_one_release(
    holders: dict[str, int], excepted: list[str]
) -> None:
    held = pl.DataFrame({"value": list(holders), "people": list(holders.values())})
    assert list(first_plan(held, 1000, "diagnosis", persists=True).excepted) == excepted


def test_a_value_that_everybody_has_leads_to_a_question() -> None:
    with pytest.raises(TableError, match="no value of column 'diagnosis'") as asked:
        plan_for(100, a=90, b=60)
    assert "--sensitive COLUMN" in asked.value.remedy


@given(st.lists(st.integers(1, 400), min_size=1, max_size=12), st.integers(400, 2000))
def test_plans_are_as_long_and_protect_as_much_as_they_can(sizes: list[int], people: int) -> None:
    holders = {f"v{number}": size for number, size in enumerate(sizes)}
    try:
        plan = plan_for(people, **holders)
    except TableError:
        assert min(sizes) * 2 > people
        return
    protected = [size for name, size in holders.items() if name not in plan.excepted]
    assert protected
    for size in protected:  # everybody in one group would do
        assert size / people <= plan.share_allowed
    within = people * (1 - SPARE)
    if plan.releases > 1 and plan.releases < 20:
        longer = 1 / ConstantRatio(plan.releases + 1).preview(THRESHOLD, 1)[0]
        assert max(protected) > int(within) * longer * (1 - 1e-9)
    if plan.releases > 1:
        for size in plan.excepted.values():
            assert size > int(within) / ConstantRatio(2).preview(THRESHOLD, 1)[0] * (1 - 1e-9)


@about(12)
@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=8),
    st.integers(0, 120),
    st.sampled_from([None, "transient"]),
)
@example([1, 3], 1, None)  # fewer people than a cohort has
@example([2, 3], 2, None)
@example([20, 5, 13, 14, 14], 0, "transient")  # a past that allows nothing, and no holder
def test_any_proposal_is_published(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    without: int,
    persistence: Persistence | None,
) -> None:
    assume(sum(sizes) + without >= MINIMUM_GROUP_SIZE)
    values = [f"v{number}" for number, size in enumerate(sizes) for _ in range(size)]
    table = pl.DataFrame(
        {
            "patient": range(len(values) + without),
            "age": [number * 37 % 40 for number in range(len(values) + without)],
            "diagnosis": values + [None] * without,
        }
    )
    series = tmp_path_factory.mktemp("any") / "series"
    try:
        serigraph.init(series, table, persistence=persistence)
    except TableError as asked:
        assert "--sensitive" in asked.remedy  # noqa: PT017
        return
    assert serigraph.publish(table, series).figures["suppressed_values"] == 0


def test_the_proposal_lasts_for_the_releases_that_it_plans(tmp_path: Path) -> None:
    tables = Path(__file__).parents[2] / "docs/example"
    begun = serigraph.init(tmp_path / "clinic", tables / "2024H1.csv", persistence="transient")
    assert "releases = 3 " in begun.policy.read_text(encoding="utf-8")
    for half in ("2024H1", "2024H2", "2025H1"):
        release = serigraph.publish(tables / f"{half}.csv", begun.path)
        assert release.figures["suppressed_values"] == 0
