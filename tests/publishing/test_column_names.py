"""Columns may have any name, also those that files and frames of ours use."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import serigraph
from publishing.clinic import new_series
from serigraph.errors import PolicyError
from serigraph.ledger import Series

NAMES = (
    *("region", "group", "value", "count", "rows", "row", "name", "values", "held", "composition"),
    *("id", "person", "present", "size", "number", "past", "was", "source", "facts", "release"),
    *("q0", "cell", "code", "place", "people", "len", "groups", "n", "kind", "literal", "index"),
    *("is_odd", "label", "threshold", "low", "high", "a.b", "a b", "a`b", 'a"b'),
)
FORMS = ("generalised", "bucketised")
POLICY = """version = 1
[person]
id = {person}
[quasi_identifiers.{column}]
kind = "numeric"
[quasi_identifiers.zip]
kind = "categorical"
[sensitive]
column = {sensitive}
form = "{kind}"
[protected]
values = ["HIV"]
[guarantee]
threshold = "1/2"
minimum_group_size = 2
[strategy]
name = "constant"
releases = 3
[output]
form = "{form}"
files = {files}
"""


def quoted(name: str) -> str:
    return "'" + name + "'"


def table(person: str, column: str, sensitive: str, shift: int = 0) -> pl.DataFrame:
    numbers = pl.int_range(60, eager=True)
    values = ["HIV" if number % 20 == shift else "flu" for number in numbers]
    return pl.DataFrame(
        [
            pl.Series(person, numbers),
            pl.Series(column, numbers % 40 + 20),
            pl.Series("zip", [f"z{number % 3}" for number in numbers]),
            pl.Series(sensitive, values),
        ]
    )


def series_of(
    folder: Path, person: str, column: str, sensitive: str, form: str, files: str, kind: str
) -> Series:
    return new_series(
        folder,
        POLICY.format(
            person=quoted(person),
            column=quoted(column),
            sensitive=quoted(sensitive),
            form=form,
            files=files,
            kind=kind,
        ),
    )


# Each name once for the person, once for a quasi-identifier, and once for the sensitive column.
TOGETHER = tuple(zip(NAMES, NAMES[1:] + NAMES[:1], NAMES[2:] + NAMES[:2], strict=True))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", TOGETHER, ids="-".join)
def test_any_name_can_be_published_and_audited(
    names: tuple[str, str, str], form: str, tmp_path: Path
) -> None:
    person, column, sensitive = names
    is_csv = TOGETHER.index(names) % 2 == 0
    files, kind = ('["csv"]', "rows") if is_csv else ('["parquet", "csv"]', "single")
    series = series_of(tmp_path / "series", person, column, sensitive, form, files, kind)
    if form == "bucketised" and column == "group":
        with pytest.raises(PolicyError, match="rename the column"):
            serigraph.publish(table(person, column, sensitive), series)
        return
    tables = [table(person, column, sensitive, shift) for shift in (0, 1)]
    for number, each in enumerate(tables):
        serigraph.publish(each, series, label=f"r{number}")
    audit = serigraph.audit(series)
    assert audit.is_within
    assert audit.files_agree
    assert serigraph.verify(series.path / "releases" / "r1" / "certificate.json").checks
    folders = [series.path / "releases" / f"r{number}" for number in (0, 1)]
    found = serigraph.audit(releases=folders, policy=series.path / "policy.toml", raw=tables)
    assert found.is_within
