"""Edits of a policy's text change what they are about, and nothing else."""

from __future__ import annotations

import tomllib

import pytest

from serigraph.policy import parse_policy
from serigraph.web.policy_text import PolicyText
from web.conftest import POLICY

TEXT = """# About this series.
version = 1

[person]
id = "patient"  # never published
type = "text"

# What outsiders know.
[quasi_identifiers.born]
kind = "numeric"

[quasi_identifiers."zip [code]"]
kind = "categorical"

[sensitive]
column = "diagnosis"

[protected]
except = [
    "flu",  # everybody has it
    "[guarantee]",
]
# [protected.classes]

[guarantee]
threshold = "1/2"  # of a link
"""


@pytest.mark.parametrize("text", [TEXT, POLICY, "", "version = 1", TEXT.replace("\n\n", "\n")])
def test_nothing_changes_without_an_edit(text: str) -> None:
    assert str(PolicyText(text)) == text.rstrip("\n") + "\n"


def _changed(before: str, edit: PolicyText) -> tuple[set[str], set[str]]:
    old, new = before.splitlines(), str(edit).splitlines()
    return {each for each in old if each not in new}, {each for each in new if each not in old}


def test_a_key_is_set_where_it_is() -> None:
    edit = PolicyText(TEXT)
    edit.set(("guarantee",), {"threshold": "1/3"})
    assert _changed(TEXT, edit) == (
        {'threshold = "1/2"  # of a link'},
        {'threshold = "1/3"  # of a link'},
    )


def test_a_list_of_several_lines_is_one_key() -> None:
    edit = PolicyText(TEXT)
    edit.set(("protected",), {"except": ['a "b"', "flu"]})
    assert tomllib.loads(str(edit))["protected"]["except"] == ['a "b"', "flu"]
    edit.set(("protected",), {"except": None})
    assert "protected" in tomllib.loads(str(edit))
    assert "flu" not in str(edit)


def test_sections_come_and_go() -> None:
    edit = PolicyText(TEXT)
    edit.without("quasi_identifiers", "zip [code]")
    edit.add(("quasi_identifiers", "a.b"), ['kind = "date"'])
    read = tomllib.loads(str(edit))
    assert list(read["quasi_identifiers"]) == ["born", "a.b"]
    assert list(read) == list(tomllib.loads(TEXT))
    edit.replace(("strategy",), ['name = "adaptive"', "releases = 4"])
    edit.set(("protected", "persistence"), {"default": "any"})
    read = tomllib.loads(str(edit))
    assert read["strategy"] == {"name": "adaptive", "releases": 4}
    assert read["protected"]["persistence"] == {"default": "any"}
    parse_policy(str(edit), "policy", ".")


def test_comments_stay_with_what_they_are_about() -> None:
    edit = PolicyText(TEXT)
    edit.without("quasi_identifiers", "born")
    assert "# What outsiders know." not in str(edit)
    assert "# About this series." in str(edit)
    assert "# [protected.classes]" in str(edit)
