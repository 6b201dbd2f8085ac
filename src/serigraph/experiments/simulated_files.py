"""A simulated series as files: the tables of the rounds, the registry and a policy that fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import polars as pl

from serigraph.errors import StorageError
from serigraph.experiments.series_generator import Simulation, simulated_tables
from serigraph.experiments.source import PERSON, VALUE, Source

FileFormat = Literal["csv", "parquet"]


def write_simulation(
    source: Source, simulation: Simulation, folder: Path, file_format: FileFormat = "csv"
) -> tuple[Path, ...]:
    """Write ``registry``, ``round-01``, ``round-02``, ... and ``policy.toml`` with the list of
    protected values that it names, ``protected.txt``; returns all paths."""
    tables = simulated_tables(source, simulation)
    width = max(2, len(str(len(tables))))
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in {
            "registry": source.people,
            **{f"round-{number:0{width}}": table for number, table in enumerate(tables, 1)},
        }.items():
            written.append(folder / f"{name}.{file_format}")
            _write(table, written[-1])
        for name, text in {
            "protected.txt": "".join(f"{value}\n" for value in source.rarest_values()),
            "policy.toml": _policy(source, simulation.rounds),
        }.items():
            written.append(folder / name)
            written[-1].write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            "the series could not be written",
            where=str(folder),
            remedy="free space on the disk, or see to its permissions, and run it again",
        ) from error
    return tuple(written)


def _write(table: pl.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)


def _policy(source: Source, rounds: int) -> str:
    columns = "".join(
        f"\n[quasi_identifiers.{json.dumps(name, ensure_ascii=False)}]\nkind = {json.dumps(kind)}\n"
        for name, kind in source.kinds.items()
    )
    id_type = "integer" if source.people.schema[PERSON].is_integer() else "text"
    return f"""\
# The paper's setting: the rarest tenth of the values is protected, l = 2, constant ratio.
version = 1

[person]
id = "{PERSON}"
type = "{id_type}"
{columns}
[sensitive]
column = "{VALUE}"
form = "rows"

[protected]
file = "protected.txt"

[guarantee]
l = 2

[strategy]
name = "constant"
releases = {rounds}

[output]
form = "generalised"
method = "bottom-up"
"""
