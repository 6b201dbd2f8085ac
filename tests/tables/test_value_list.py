"""The policy's list beside the values of the table: who is held by how many, and misspellings."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from serigraph.errors import PolicyError
from serigraph.tables import prepare
from serigraph.tables.value_list import ListedValue, ValueList, check_held, list_values
from tables.examples import clinic_policy, clinic_table

HOLDERS = pl.DataFrame({"value": ["chlamydia", "flu", "hiv"], "people": [412, 3001, 35]})


def listed(section: str, holders: pl.DataFrame = HOLDERS, folder: Path = Path()) -> ValueList:
    return list_values(clinic_policy(sections=section, folder=folder), holders)


def test_the_policy_stands_beside_the_table() -> None:
    found = listed('[protected]\nvalues = ["clamydia", "hiv"]')
    assert found.protected == (
        ListedValue("hiv", 35),
        ListedValue("clamydia", 0, nearest="chlamydia"),
    )
    assert found.unprotected == (ListedValue("flu", 3001), ListedValue("chlamydia", 412))
    assert [value.name for value in found.unheld] == ["clamydia"]


def test_members_of_classes_are_listed_as_the_classes_have_them() -> None:
    section = '[protected]\nvalues = ["hiv"]\n[protected.classes]\nsti = ["chlamydia", "HIV "]\n'
    found = listed(section)
    assert found.protected == (ListedValue("hiv", 35),)
    assert found.classes == {
        "sti": (ListedValue("chlamydia", 412), ListedValue("HIV", 0, nearest="hiv"))
    }
    assert found.unprotected == (ListedValue("flu", 3001),)
    assert [value.name for value in found.unheld] == ["HIV"]


@pytest.mark.parametrize(
    ("section", "unheld"),
    [
        ("", []),
        ('[protected]\nrarest = "10%"', []),
        ('[protected]\nvalues = ["hiv"]', []),
        ('[protected]\nvalues = ["hiv", "mumps", "gout"]', ["gout", "mumps"]),
        ('[protected]\nexcept = ["flue"]', []),  # protects more than was meant, not less
        ('[protected.thresholds]\nhvi = "1/10"\nflu = "1/3"', ["hvi"]),
        ('[protected.classes]\nsti = ["hiv", "syphilis"]', ["syphilis"]),
        ('[protected.classes]\nsti = ["hiv"]\n[protected.thresholds]\nsti = "1/10"', []),
    ],
)
def test_what_nobody_holds_though_the_policy_names_it(section: str, unheld: list[str]) -> None:
    assert [value.name for value in listed(section).unheld] == unheld


def test_a_file_is_a_list_too(tmp_path: Path) -> None:
    (tmp_path / "protected.txt").write_text("hiv\nmumps\n")
    found = listed('[protected]\nfile = "protected.txt"', folder=tmp_path)
    assert [value.name for value in found.unheld] == ["mumps"]


def test_an_exception_that_nobody_holds_is_listed_with_what_it_may_mean() -> None:
    found = listed('[protected]\nexcept = ["flue"]')
    assert found.unprotected == (ListedValue("flue", 0, nearest="flu"),)


@pytest.mark.parametrize(
    ("written", "in_table", "nearest"),
    [
        ("clamydia", "chlamydia", "chlamydia"),
        ("HIV", "hiv", "hiv"),
        ("Gonorrhea", "gonorrhoea", "gonorrhoea"),
        ("mumps", "measles", ""),
        ("A54", "A56", ""),  # codes that differ in a digit are different codes
        ("A541", "A54.1", "A54.1"),
        ("hepatitis B", "hepatitis  B", "hepatitis  B"),
    ],
)
def test_only_what_is_really_near_is_suggested(written: str, in_table: str, nearest: str) -> None:
    holders = pl.DataFrame({"value": [in_table, "zoster"], "people": [3, 5]})
    found = listed(f'[protected]\nvalues = ["{written}"]', holders)
    assert found.unheld == (ListedValue(written, 0, nearest=nearest),)


def test_a_value_that_is_protected_already_is_not_suggested() -> None:
    holders = pl.DataFrame({"value": ["hepatitis b", "flu"], "people": [3, 5]})
    found = listed('[protected]\nvalues = ["hepatitis b", "hepatitis c"]', holders)
    assert found.unheld == (ListedValue("hepatitis c", 0),)


def test_unheld_values_are_refused_with_what_to_do() -> None:
    policy = clinic_policy(sections='[protected]\nvalues = ["clamydia", "hiv", "mumps"]')
    with pytest.raises(PolicyError) as refused:
        check_held(list_values(policy, HOLDERS), policy, "clinic/policy.toml")
    assert str(refused.value) == (
        "nobody in the table holds 2 protected values - clinic/policy.toml - correct the "
        'spelling, or set unheld = "allow" in [protected] for values that may appear later\n'
        "  - 'clamydia': the table has 'chlamydia'\n"
        "  - 'mumps'"
    )


def test_many_unheld_values_are_counted() -> None:
    names = ", ".join(f'"disease {chr(97 + n // 26)}{chr(97 + n % 26)}"' for n in range(50))
    policy = clinic_policy(sections=f"[protected]\nvalues = [{names}]")
    with pytest.raises(PolicyError) as refused:
        check_held(list_values(policy, HOLDERS), policy, "policy.toml")
    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1] == "and 30 more"


def test_unheld_values_may_be_allowed() -> None:
    policy = clinic_policy(sections='[protected]\nvalues = ["mumps"]\nunheld = "allow"')
    check_held(list_values(policy, HOLDERS), policy, "policy.toml")


def test_preparing_a_table_lists_its_values() -> None:
    policy = clinic_policy(sections='[protected]\nvalues = ["gout", "hvi"]')
    found = prepare(clinic_table(), policy).value_list
    assert found.protected == (ListedValue("gout", 1), ListedValue("hvi", 0))
    assert {value.name for value in found.unprotected} == {"flu", "hiv"}
