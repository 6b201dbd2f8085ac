"""A small clinic: a policy, its table in several forms, and a registry."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import polars as pl

from serigraph.policy import Policy, parse_policy

ZIP_TAXONOMY = "02139;021**;*\n02140;021**;*\n65001;650**;*\n65002;650**;*\n"


def clinic_policy(*changes: tuple[str, str], sections: str = "", folder: Path = Path()) -> Policy:
    """The policy of the clinic with parts of its text replaced and sections added."""
    text = """\
version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.born]
kind = "date"
[quasi_identifiers.zip]
kind = "categorical"
[sensitive]
column = "diagnosis"
[guarantee]
threshold = "1/2"
"""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_policy(text + sections, "policy.toml", folder)


def clinic_table() -> pl.DataFrame:
    """Five people; age, date of birth, zip code and diagnosis are missing once each."""
    return pl.DataFrame(
        {
            "patient": [5, 3, 4, 1, 2],
            "age": [31, None, 47, 31, 60],
            "born": [date(1990, 1, 2), date(1985, 5, 30), None, date(1990, 3, 4), date(1961, 1, 1)],
            "zip": ["02139", "65001", "65001", None, "02140"],
            "diagnosis": ["flu", "gout", "flu", "hiv", None],
        }
    )


def registry_of(ids: Sequence[object], **columns: Sequence[object]) -> pl.DataFrame:
    """A registry of these people, alike but for the columns that are given."""
    given = {"age": [50] * len(ids), "born": ["1970-01-01"] * len(ids), "zip": ["02139"] * len(ids)}
    return pl.DataFrame({"patient": ids, **given, **columns})
