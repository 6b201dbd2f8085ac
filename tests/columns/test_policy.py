"""What a policy of several columns may not say, in words that help."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from columns.records import Shape, policy_of
from serigraph.errors import PolicyChanged, PolicyError
from serigraph.policy import check_unchanged, parse_policy
from serigraph.tables import ProtectedChoice
from serigraph.texts import composed, qualified, unqualified

POLICY = policy_of(Shape())
SEVERAL = '[sensitive."diagnosis"]'
WRONG = {
    "two roles": (
        '[quasi_identifiers.sex]\nkind = "categorical"',
        '[quasi_identifiers.drug]\nkind = "categorical"',
        "the column 'drug' is already a sensitive column",
    ),
    "plain and sensitive": ('"cost" = ', '"drug" = ', "the column 'drug' is already a sensitive"),
    "plain and quasi": ('"cost" = ', '"age" = ', "the column 'age' is already a quasi-identifier"),
    "plain and id": ('"cost" = ', '"patient" = ', "'patient' is already the person's id"),
    "class over an unknown column": ('"drug" = ["AZT"]', '"drag" = ["AZT"]', "no sensitive column"),
    "class named as a value": (
        '[classes."HIV or AZT"',
        '[classes."drug: x"',
        "cannot have a colon",
    ),
    "unknown key": ('delimiter = "|"', 'delimeter = "|"', "did you mean 'delimiter'?"),
    "unknown kind": ('"numeric"\n"ward"', '"money"\n"ward"', "'numeric', 'date' or 'text'"),
    "groups of one": ("minimum_group_size = 2", "minimum_group_size = 1", "set minimum_group_size"),
    "values that persist": (
        '[sensitive."drug"]\n',
        '[sensitive."diagnosis".protected.persistence]\ndefault = "any"\n[sensitive."drug"]\n',
        'all sensitive columns persist, or none: write default = "any" in [sensitive.NAME.',
    ),
    "a common section": ("[plain]", "[protected]\n[plain]", "each has a section of its own"),
    "rows apart": ('form = "generalised"', 'form = "generalised"\napart = true', "a whole record"),
    "a name with blanks": (SEVERAL, '[sensitive."dx "]\n' + SEVERAL, "rename the column"),
}


@pytest.mark.parametrize(("old", "new", "expected"), WRONG.values(), ids=WRONG)
def test_contradictions_are_refused_with_their_line(old: str, new: str, expected: str) -> None:
    assert old in POLICY
    with pytest.raises(PolicyError) as refused:
        parse_policy(POLICY.replace(old, new), "policy.toml", ".")
    assert any(expected in each for each in refused.value.problems), refused.value.problems
    assert all(each.startswith("line ") for each in refused.value.problems)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("[sensitive]", '[sensitive."diagnosis"]'), ('column = "diagnosis"\n', "")], "column ="),
        ([("[guarantee]", '[classes.a.values]\nx = ["y"]\n[guarantee]')], "several sensitive"),
        ([("[guarantee]", "[output]\napart = true\n[guarantee]")], "nothing to keep apart"),
        (
            [
                ("[guarantee]", '[plain]\nx = "text"\n[guarantee]'),
                ('default = "any"', 'default = "any"\nflu = "transient"'),
            ],
            "beside plain columns all protected values persist, or none",
        ),
    ],
)
def test_what_needs_several_columns_is_refused_with_one(
    changes: list[tuple[str, str]], expected: str
) -> None:
    text = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected.persistence]
default = "any"
[guarantee]
l = 2
minimum_group_size = 2
"""
    if "plain" not in expected:
        text = text.replace('[protected.persistence]\ndefault = "any"\n', "")
    for old, new in changes:
        text = text.replace(old, new)
    with pytest.raises(PolicyError) as refused:
        parse_policy(text, "policy.toml", ".")
    assert any(expected in each for each in refused.value.problems), refused.value.problems


def test_what_is_fixed_and_what_may_change() -> None:
    before = parse_policy(POLICY, "policy.toml", ".")
    published = json.loads(json.dumps(before.frozen()))

    def check(old: str, new: str) -> None:
        assert old in POLICY
        text = POLICY.replace(old, new)
        check_unchanged(published, parse_policy(text, "policy.toml", "."), text, "policy.toml")

    check('"cost" = "numeric"\n', "")
    check('form = "generalised"', 'form = "bucketised"\napart = true')
    line = POLICY.splitlines().index('except = ["flu", "fracture"]') + 1
    with pytest.raises(PolicyChanged, match=f"line {line}, protected.columns.diagnosis.except"):
        check('except = ["flu", "fracture"]', 'except = ["flu"]')
    with pytest.raises(PolicyChanged, match="sensitive"):
        check('delimiter = "|"', 'delimiter = "|"\nmissing = "error"')
    with pytest.raises(PolicyChanged, match="thresholds"):
        check('[classes."HIV or AZT"]\nthreshold = "1/2"', '[classes."HIV or AZT"]')


NAMES = st.text(min_size=1, max_size=8).filter(lambda name: name.isprintable() or "\n" in name)


@given(st.lists(NAMES, min_size=2, max_size=2, unique=True), st.lists(NAMES, min_size=2))
def test_no_two_columns_and_values_share_a_name(columns: list[str], values: list[str]) -> None:
    names = {(column, value): qualified(column, value) for column in columns for value in values}
    assert len(set(names.values())) == len(names)
    assert all(unqualified(name) == pair for pair, name in names.items())


@pytest.mark.parametrize("value", ["\u0338x", "\u0301", "a", ": b", "\u200d"])
@pytest.mark.parametrize("column", ["drug", "a=", "dx:", "\\", "é"])
def test_a_name_stays_as_it_is_in_the_ledger(column: str, value: str) -> None:
    value = str(composed(pl.Series([value]))[0])
    if value:
        name = qualified(column, value)
        assert composed(pl.Series([name])).to_list() == [name]


def test_a_choice_of_columns_is_kept() -> None:
    choice = ProtectedChoice.of_columns(
        {
            "drug": ProtectedChoice("only", ("AZT",)),
            "a: b": ProtectedChoice("all but", ("flu",)),
        }
    )
    assert ProtectedChoice.from_json(choice.to_json()) == choice
    assert choice.covers("drug: AZT")
    assert not choice.covers("drug: aspirin")
    assert choice.covers(qualified("a: b", "HIV"))
    assert not choice.covers(qualified("a: b", "flu"))
    assert not choice.covers("other: HIV")
