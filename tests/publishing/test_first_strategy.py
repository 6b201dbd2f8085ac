"""The strategy of a first policy: the best of all, as rehearsed on the table at hand."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from planning.test_recommendation import beats
from serigraph.publishing.first_plan import FirstPlan
from serigraph.publishing.strategy_section import rehearsed, section


def people(number: int, values: int, *, skew: float = 0.0, columns: int = 1) -> pl.DataFrame:
    """Values that all are equally common, or fall by a power of their rank."""
    draw = np.random.default_rng(number + values)
    share = np.arange(1, values + 1) ** -skew
    given = [draw.choice(values, number, p=share / share.sum()) for _ in range(columns)]
    return pl.DataFrame(
        {
            "patient": range(number),
            "age": draw.integers(0, 90, number),
            "sex": draw.choice(["F", "M"], number),
            **{
                f"diagnosis{column or ''}": [f"d{value:03}" for value in drawn]
                for column, drawn in enumerate(given)
            },
        }
    )


@pytest.mark.parametrize(
    "table",
    [
        people(6, 3),
        people(16, 4),
        people(60, 30),
        people(300, 3),  # all values are common
        people(400, 50, skew=1.5),
        people(200, 6, columns=2),
    ],
    ids=["six", "sixteen", "many values", "common values", "skewed", "two columns"],
)
def test_the_policy_has_the_best_row_of_its_own_table(table: pl.DataFrame, tmp_path: Path) -> None:
    sensitive = [name for name in table.columns if name.startswith("diagnosis")]
    begun = serigraph.init(tmp_path / "series", table, sensitive=sensitive, persistence="transient")
    best, *others = begun.strategies
    assert not any(beats(each, best) for each in others)
    assert {each.short_name.split(" ")[0] for each in begun.strategies} == {
        "adaptive",
        "constant",
        "geometric",
        "schedule",
    }
    text = begun.policy.read_text(encoding="utf-8")
    written = tomllib.loads(text)["strategy"]
    assert written == tomllib.loads(best.section)["strategy"]
    for line in rehearsed(begun.strategies):
        assert f"# {line}\n" in text
    assert serigraph.publish(table, begun.path).figures["suppressed_values"] == 0


def test_nothing_is_rehearsed_where_values_persist(tmp_path: Path) -> None:
    begun = serigraph.init(tmp_path / "series", people(60, 30))
    assert begun.strategies == ()
    text = begun.policy.read_text(encoding="utf-8")
    assert 'name = "adaptive"' in text
    assert "no strategy was rehearsed" in text
    assert any("no strategy was rehearsed" in note for note in begun.notes)


def test_what_was_rehearsed_is_not_denied(tmp_path: Path) -> None:
    begun = serigraph.init(tmp_path / "series", people(60, 30), persistence="transient")
    assert "no strategy" not in begun.policy.read_text(encoding="utf-8")
    assert not any("no strategy" in note for note in begun.notes)


def test_a_rehearsal_is_repeatable(tmp_path: Path) -> None:
    first, second = (
        serigraph.init(tmp_path / name, people(60, 30), persistence="transient")
        for name in ("first", "second")
    )
    assert first.strategies == second.strategies
    assert first.policy.read_bytes() == second.policy.read_bytes()


@pytest.mark.parametrize("number", range(4))
def test_any_strategy_may_be_the_best(number: int, tmp_path: Path) -> None:
    """Whichever comes first is written into a policy that can be read."""
    begun = serigraph.init(tmp_path / "series", people(60, 3), persistence="transient")
    plan = FirstPlan(60, begun.strategies[0].releases, 20, {})
    first = begun.strategies[number]
    others = (each for each in begun.strategies if each is not first)
    written = tomllib.loads("\n".join(section(plan, (first, *others))))["strategy"]
    assert written == tomllib.loads(first.section)["strategy"]
