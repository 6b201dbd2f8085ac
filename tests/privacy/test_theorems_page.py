"""docs/theorems.md has no gaps: every statement, every function, every test."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import pytest

import serigraph.privacy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| Statement")
]
STATEMENTS = {
    *(f"Principle {number}" for number in (1, 2)),
    "Problem 1",
    *(f"Definition {number}" for number in (1, 2, 3, 4, 5)),
    *(f"Lemma {number}" for number in (1, 2, 3, 4, 5)),
    *(f"Theorem {number}" for number in (1, 2, 3, 4)),
    *(f"Corollary {number}" for number in (1, 2, 3)),
    *(f"Example {number}" for number in (1, 2, 3)),
    *(f"Section {number}" for number in ("6.1", "6.2", "6.3", "7")),
    "Table 1",
    "Figures 1 to 4",
}


def code_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_statement_of_the_paper_has_one_row() -> None:
    listed = [row[0] for row in ROWS if row[0] != "Beyond the paper"]
    assert sorted(listed) == sorted(STATEMENTS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_what_a_row_names_exists(row: list[str]) -> None:
    statement, meaning, functions, tests = row
    assert meaning
    assert code_in(functions), "a row needs a function"
    for name in code_in(functions):
        attrgetter(name)(serigraph.privacy)
    (test,) = code_in(tests)
    source = (ROOT / test).read_text(encoding="utf-8")
    assert re.search(r"^def test_", source, re.MULTILINE)
    if test.startswith("tests/theorems/") and statement != "Beyond the paper":
        assert cited(statement, source.split('"""')[1]), "the test does not say what it tests"


def cited(statement: str, docstring: str) -> bool:
    kind, number = statement.split(" ", 1)
    return bool(re.search(rf"{kind}s? ([\d.]+ and )?{re.escape(number)}\b", docstring))


def test_every_theorem_test_is_on_the_page() -> None:
    named = {test for row in ROWS for test in code_in(row[3])}
    present = {str(path.relative_to(ROOT)) for path in (ROOT / "tests/theorems").glob("test_*.py")}
    assert present <= named


def test_every_public_name_is_on_the_page() -> None:
    named = {name.split(".")[0] for row in ROWS for name in code_in(row[2])}
    assert named >= set(serigraph.privacy.__all__)
