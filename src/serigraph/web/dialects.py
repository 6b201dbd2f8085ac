"""Tables whose columns are called, or whose cells are written, in another way than a policy says.

A copy in the policy's own words is put beside such a table, in the private folder of uploads.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.errors import TableError
from serigraph.ledger import storage_errors
from serigraph.policy import Policy, Reading, read_policy
from serigraph.tables import read_table
from serigraph.tables.csv_files import detect_dialect
from serigraph.tables.people import missing_columns

_BEGINNING = 1 << 16  # bytes that tell the columns of a text file
_UNREADABLE = (OSError, UnicodeError, LookupError, csv.Error, pl.exceptions.PolarsError)
DELIMITERS: Mapping[str, str] = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
DECIMALS: Mapping[str, str] = {"point": ".", "comma": ","}


@dataclass(frozen=True)
class Dialect:
    """What a table says in other words: its ``columns`` by those of the policy, and its signs;
    what is empty is as in the policy."""

    columns: Mapping[str, str] = field(default_factory=dict)
    delimiter: str = ""
    decimal: str = ""
    missing: Sequence[str] = ()

    @property
    def is_other(self) -> bool:
        return bool(self.columns or self.delimiter or self.decimal or self.missing)


def source_of(path: Path, dialect: Dialect) -> Any:
    """A table for a task: its path, and what it says in other words if there is anything."""
    return {"path": str(path), **asdict(dialect)} if dialect.is_other else str(path)


def header_of(path: Path, delimiter: str = "") -> tuple[str, ...]:
    """The columns of a file, where its beginning tells them; otherwise nothing."""
    try:
        match path.suffix.lower():
            case ".csv" | ".tsv" | ".txt":
                with path.open("rb") as file:
                    beginning = file.read(_BEGINNING)
                return detect_dialect(beginning, Reading(delimiter=delimiter or None)).header
            case ".parquet":
                return tuple(pl.read_parquet_schema(path))
            case ".arrow" | ".feather" | ".ipc":
                return tuple(pl.read_ipc_schema(path))
    except (*_UNREADABLE, pl.exceptions.PanicException):  # a panic is no Exception
        pass
    return ()


def translated(sources: Sequence[Any], policy: str) -> list[Any]:
    """The paths of tables, each in the words of a policy. Two linked tables are two paths."""
    rules = read_policy(policy)

    def one(source: Any) -> Any:
        if isinstance(source, list):
            return [one(each) for each in source]
        return _copy(source, rules) if isinstance(source, dict) else source

    return [one(each) for each in sources]


def _copy(source: Mapping[str, Any], rules: Policy) -> str:
    path = Path(source["path"])
    delimiter = source["delimiter"] or rules.reading.delimiter
    table = read_table(path, rules.reading.model_copy(update={"delimiter": delimiter}))
    renamed = dict(source["columns"])
    if problems := missing_columns(table, list(renamed.values()), "it"):
        raise TableError(
            "a column that was chosen is not in the table",
            where=path.name,
            remedy="choose its columns again",
            problems=problems,
        )
    others = set(table.columns) - renamed.keys() - set(renamed.values())
    kept = [pl.col(theirs).alias(own) for own, theirs in renamed.items()]
    table = table.select(*(name for name in table.columns if name in others), *kept)
    texts = pl.col(pl.String)
    if source["missing"]:
        is_missing = texts.str.strip_chars().is_in(list(source["missing"]))
        table = table.with_columns(pl.when(~is_missing).then(texts).name.keep())
    table = table.with_columns(_numbers(table, rules, source["decimal"]))
    folder = path.parent / "in-the-words-of-the-policy"
    copy = folder / f"{path.stem}.parquet"
    with storage_errors(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT, 0o600))
        table.write_parquet(copy)
    return str(copy)


def _numbers(table: pl.DataFrame, rules: Policy, decimal: str) -> list[pl.Expr]:
    """Numeric columns with the policy's decimal sign."""
    own = rules.reading.decimal or "."
    if not decimal or decimal == own:
        return []
    columns = rules.quasi_identifiers.items()
    numeric = [name for name, each in columns if each.kind == "numeric"]
    return [
        pl.col(name).str.replace_all(decimal, own, literal=True)
        for name in numeric
        if name in table.columns and table.schema[name] == pl.String
    ]
