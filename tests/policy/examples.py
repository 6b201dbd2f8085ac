"""A policy to start from, and a way to change it."""

from __future__ import annotations

FULL = """\
version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers."zip code"]
kind = "categorical"
[sensitive]
column = "diagnosis"
[protected]
values = "all"
[protected.classes]
"any STD" = ["chlamydia", "gonorrhoea"]
[protected.thresholds]
"any STD" = "1/10"
[guarantee]
threshold = "1/2"
minimum_group_size = 3
[strategy]
name = "constant"
releases = 10
"""


def changed(*replacements: tuple[str, str]) -> str:
    """The full policy with parts of its text replaced; each part must be there."""
    text = FULL
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text
