"""Which values are protected, in the first release and later ones."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from serigraph.errors import TableError
from serigraph.tables import Prepared, ProtectedChoice, prepare
from tables.examples import clinic_policy, clinic_table

FEVERS = (
    '[protected.classes]\nfevers = ["malaria", "flu"]\n[protected.thresholds]\nfevers = "1/9"\n'
)


def names(prepared: Prepared) -> list[str]:
    return [value.name for value in prepared.population.protected]


def holders(prepared: Prepared, name: str) -> list[int]:
    population = prepared.population
    index = names(prepared).index(name)
    return [
        person
        for i, person in enumerate(population.ids.to_list())
        if index in population.held[population.held_start[i] : population.held_start[i + 1]]
    ]


@pytest.mark.parametrize(
    ("section", "expected", "rule"),
    [
        ("", ["flu", "gout", "hiv"], "all but"),
        ('[protected]\nvalues = "all"', ["flu", "gout", "hiv"], "all but"),
        ('[protected]\nvalues = ["hiv", " gout ", "mumps"]', ["gout", "hiv"], "only"),
        ('[protected]\nexcept = ["flu"]', ["gout", "hiv"], "all but"),
        ('[protected]\nvalues = "all"\nexcept = ["flu", "mumps"]', ["gout", "hiv"], "all but"),
        ('[protected]\nrarest = "10%"', ["gout"], "all but"),
        ('[protected]\nrarest = "2/3"', ["gout", "hiv"], "all but"),
        ('[protected]\nrarest = "34%"', ["gout", "hiv"], "all but"),
    ],
)
def test_every_way_to_choose(section: str, expected: list[str], rule: str) -> None:
    prepared = prepare(clinic_table(), clinic_policy(sections=section))
    assert names(prepared) == expected
    assert prepared.protected_choice.rule == rule


def test_a_file_lists_values(tmp_path: Path) -> None:
    (tmp_path / "protected.txt").write_text("hiv\nmumps\n")
    policy = clinic_policy(sections='[protected]\nfile = "protected.txt"', folder=tmp_path)
    prepared = prepare(clinic_table(), policy)
    assert names(prepared) == ["hiv"]
    assert prepared.protected_choice == ProtectedChoice("only", ("hiv", "mumps"))
    assert "1 protected value is held by nobody" in prepared.notes[0]


def test_the_rarest_values_are_chosen_once_and_new_values_are_protected() -> None:
    policy = clinic_policy(sections='[protected]\nrarest = "10%"')
    choice = prepare(clinic_table(), policy).protected_choice
    assert choice == ProtectedChoice("all but", ("flu", "hiv"))
    stored = ProtectedChoice.from_json(choice.to_json())
    later = clinic_table().with_columns(diagnosis=pl.Series(["hiv", "hiv", "gout", "mumps", "flu"]))
    prepared = prepare(later, policy, known_protected=stored)
    assert names(prepared) == ["gout", "mumps"]
    assert prepared.protected_choice == choice


def test_a_class_is_held_through_any_of_its_values() -> None:
    prepared = prepare(clinic_table(), clinic_policy(sections=FEVERS))
    assert names(prepared) == ["fevers", "flu", "gout", "hiv"]
    assert holders(prepared, "fevers") == holders(prepared, "flu") == [4, 5]
    thresholds = {value.name: value.threshold for value in prepared.population.protected}
    assert thresholds["fevers"] == Fraction(1, 9)
    assert thresholds["flu"] == Fraction(1, 2)


def test_a_class_protects_as_one_what_is_not_protected_by_itself() -> None:
    prepared = prepare(
        clinic_table(), clinic_policy(sections="[protected]\nvalues = []\n" + FEVERS)
    )
    assert names(prepared) == ["fevers"]


def test_who_holds_two_values_of_a_class_holds_it_once() -> None:
    policy = clinic_policy(
        ('column = "diagnosis"', 'column = "diagnosis"\nform = "delimited"\ndelimiter = ";"'),
        sections=FEVERS,
    )
    table = clinic_table().with_columns(diagnosis=pl.lit("flu;malaria"))
    prepared = prepare(table, policy)
    assert prepared.population.held.tolist() == [0, 1, 2] * 5


def test_a_class_that_nobody_holds_is_noted() -> None:
    section = '[protected.classes]\npox = ["smallpox"]\n'
    prepared = prepare(clinic_table(), clinic_policy(sections=section))
    assert "pox" not in names(prepared)
    assert "1 protected value is held by nobody" in prepared.notes[0]


def test_a_class_must_not_have_the_name_of_a_value() -> None:
    section = '[protected.classes]\nflu = ["hiv", "gout"]\n'
    with pytest.raises(TableError, match="rename the class"):
        prepare(clinic_table(), clinic_policy(sections=section))


def test_a_stored_choice_is_checked() -> None:
    with pytest.raises(ValueError, match="ascending"):
        ProtectedChoice("only", ("b", "a"))


@pytest.mark.parametrize(
    ("section", "cell"), [('[protected]\nvalues = ["mumps"]', "flu"), ("", None), ("", " ")]
)
def test_a_table_in_which_nobody_holds_a_protected_value(section: str, cell: str | None) -> None:
    table = clinic_table().with_columns(diagnosis=pl.lit(cell))
    prepared = prepare(table, clinic_policy(sections=section))
    assert prepared.population.protected == ()
    assert prepared.population.held_start.tolist() == [0] * 6
    assert "nobody in this table holds a protected value" in prepared.notes
