"""Claims that were found to be false stay out of everything that a reader sees."""

from __future__ import annotations

import re

import pytest

from docs.pages import PAGES, ROOT

FALSE = (
    r"only the sum",  # of the probabilities is a bound: not where values persist
    r"\bgenuine\b",  # files and certificate can be changed together
    r"twin of each",
    r"headings of ISO",
    r"every pair of a person and a value from the ledger",  # the verifier takes a recalled past
    r"dependent releases",
)
READ = [
    *(page for page in PAGES if page.name != "CHANGELOG.md"),
    ROOT / "pyproject.toml",
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "src").rglob("*.html")),
]


@pytest.mark.parametrize("claim", FALSE)
def test_it_is_nowhere(claim: str) -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in READ
        if re.search(claim, " ".join(path.read_text(encoding="utf-8").split()))
    ]
    assert not found


def test_values_that_persist_are_the_first_limit() -> None:
    """Where a reader looks first: the README's limits, and the top of the page on limits."""
    limits = (ROOT / "docs" / "known-limits.md").read_text(encoding="utf-8")
    first = re.findall("^## (.*)$", limits, re.MULTILINE)[0]
    assert first == "Chronic values called transient are found out"
    assert "| q = 1, generalised, r = 0.8, presence known | 14 % | 57 % | 94 % | 100 % |" in limits
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("## Limits\n")[1].split("\n## ")[0]
    assert section.strip().startswith("**Say which values persist.**")
