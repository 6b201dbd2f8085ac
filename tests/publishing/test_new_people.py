"""A later release of which the ledger knows hardly anybody is stopped until that is meant."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import serigraph
from cli.running import run
from publishing.clinic import new_series, policy_text
from serigraph.errors import TableError
from serigraph.ledger import Series

pytestmark = pytest.mark.usefixtures("values_may_stay")

PEOPLE = 200


def table(first: int, people: int = PEOPLE, prefix: str = "P") -> pl.DataFrame:
    numbers = pl.int_range(first, first + people, eager=True)
    return pl.DataFrame(
        {
            "patient": [f"{prefix}{number}" for number in numbers],
            "age": numbers % 60 + 20,
            "diagnosis": ["HIV" if number % 20 == 0 else "flu" for number in numbers],
        }
    )


@pytest.fixture
def series(tmp_path: Path) -> Series:
    text = policy_text(
        columns='[quasi_identifiers.age]\nkind = "numeric"\n',
        protected='values = ["HIV"]',
        guarantee='threshold = "1/2"\nminimum_group_size = 2',
        strategy='name = "constant"\nreleases = 4',
    )
    made = new_series(tmp_path / "series", text)
    serigraph.publish(table(1), made, label="r1")
    return made


@pytest.mark.parametrize(("known", "is_stopped"), [(0, True), (9, True), (10, False)])
def test_below_a_twentieth_is_stopped(series: Series, known: int, is_stopped: bool) -> None:
    later = table(1 + PEOPLE - known)
    if not is_stopped:
        assert serigraph.publish(later, series).record.number == 2
        return
    with pytest.raises(TableError, match="hardly anybody is known") as refused:
        serigraph.publish(later, series)
    assert f"the table: {known} of 200 people are known" in str(refused.value)
    assert "P2" not in str(refused.value)
    assert len(series.releases()) == 1
    assert serigraph.publish(later, series, new_people=True).record.number == 2


def test_another_form_of_ids_is_stopped(series: Series) -> None:
    with pytest.raises(TableError, match="0 of 200 people are known"):
        serigraph.publish(table(1, prefix="P-"), series)


def test_other_capitals_in_some_ids_are_refused(series: Series) -> None:
    mixed = pl.concat([table(1, 20), table(21, PEOPLE - 20, prefix="p")])
    with pytest.raises(TableError, match="180 ids of the table or registry differ") as refused:
        serigraph.publish(mixed, series)
    assert "p21" not in str(refused.value)


def test_a_note_says_how_many_people_are_known(series: Series) -> None:
    release = serigraph.publish(table(51), series)
    expected = "of 200 people in the table, 150 were in the series before, and 50 are new"
    assert expected in release.notes


def test_everybody_in_a_first_registry_may_be_new(series: Series) -> None:
    registry = pl.concat([table(1), table(10_000, 50 * PEOPLE)]).drop("diagnosis")
    release = serigraph.publish(table(50), series, registry=registry)
    assert release.figures["people_in_registry"] == 51 * PEOPLE


def test_a_registry_in_another_form_is_stopped(series: Series) -> None:
    registry = table(1, 2 * PEOPLE).drop("diagnosis")
    serigraph.publish(table(50), series, registry=registry, label="r2")
    # Its people come under new ids, and nobody of the table is among them any more.
    other = table(1, 2 * PEOPLE, prefix="P-").drop("diagnosis")
    with pytest.raises(TableError, match="the registry: 0 of 400 people are known"):
        serigraph.publish(table(60), series, registry=other)


def test_the_command_has_a_flag(series: Series, tmp_path: Path) -> None:
    table(5_000).write_csv(tmp_path / "new.csv")
    arguments = ["publish", str(tmp_path / "new.csv"), "--series", str(series.path)]
    refused = run(*arguments)
    assert refused.code == 3
    assert "--new-people" in refused.err
    assert run(*arguments, "--new-people").code == 0
