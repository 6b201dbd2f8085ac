"""Taxonomy files in ARX's format: one line per leaf, followed by its ancestors up to the root."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Literal

import polars as pl

from serigraph.errors import TaxonomyError
from serigraph.model import Taxonomy
from serigraph.tables.csv_files import detect_encoding
from serigraph.texts import composed

NEW_BRANCH = "(new)"


def read_taxonomy(path: Path) -> Taxonomy:
    """The taxonomy in a file whose levels are separated by semicolons, or else by commas."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TaxonomyError(
            f"the taxonomy cannot be read ({error.strerror})",
            where=str(path),
            remedy="correct the path in the policy",
        ) from None
    return parse_taxonomy(data, str(path))


def parse_taxonomy(data: bytes, where: str) -> Taxonomy:
    """The taxonomy in the content of a file."""
    text = data.decode(detect_encoding(data), errors="replace")
    delimiter = ";" if ";" in text or "," not in text else ","
    try:
        rows = [
            row
            for row in csv.reader(io.StringIO(text), delimiter=delimiter)
            if any(cell.strip() for cell in row)
        ]
    except csv.Error:
        raise TaxonomyError(
            "a name in the taxonomy is too long",
            where=where,
            remedy="put every leaf on its own line, and separate levels with semicolons",
        ) from None
    cells = iter(composed(pl.Series([cell for row in rows for cell in row], dtype=pl.String)))
    return Taxonomy.from_rows([[next(cells) for _ in row] for row in rows], where=where)


def taxonomy_text(taxonomy: Taxonomy) -> str:
    """The file of a taxonomy: a line for each leaf, which is followed by its ancestors."""
    return "".join(";".join(map(_quoted, path[::-1])) + "\n" for path in taxonomy.paths)


def _quoted(label: str) -> str:
    doubled = label.replace('"', '""')
    return f'"{doubled}"' if any(each in label for each in ';"\r\n') else label


def covering(
    taxonomy: Taxonomy, observed: pl.Series, new_values: Literal["error", "branch"]
) -> tuple[Taxonomy, frozenset[str]]:
    """The taxonomy with a leaf for every observed value, and the values that stay without one.

    With "branch", an unknown value becomes a leaf under its own branch below the root (below
    nothing, where the taxonomy has several roots). In a taxonomy of the leaves and one root, every
    leaf already has its own branch.
    """
    unknown = observed.drop_nulls().unique()
    unknown = unknown.filter(~unknown.is_in(list(taxonomy.leaves))).sort()
    if unknown.is_empty() or new_values == "error":
        return taxonomy, frozenset(unknown.to_list())
    levels = len(taxonomy.paths[0])
    roots = {path[0] for path in taxonomy.paths}
    above = [next(iter(roots))] if len(roots) == 1 and levels > 1 else []
    branch = [*above, *[NEW_BRANCH] * (levels - len(above) - 1)]
    paths = [*taxonomy.paths, *((*branch, value) for value in unknown)]
    return Taxonomy.from_rows([path[::-1] for path in paths]), frozenset()
