"""How many rows of a release plain columns link to a row of the release before it.

Rows that are linked are in both of the groups that they stand in. If people keep their plain cells
from one release to the next, that narrows down whose rows they are, whatever the values do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from serigraph.ledger import ReleaseRecord
from serigraph.ledger.layout import Layout
from serigraph.recoding.output import FORMATS, as_meant

_BETWEEN = "\x1f"  # cells, and before each that is not missing: texts cannot begin with it


def linked_rows(
    shown: Mapping[str, pl.DataFrame],
    columns: Sequence[str],
    layout: Layout,
    releases: Sequence[ReleaseRecord],
) -> dict[str, object]:
    """How many rows have plain cells that one row alone has, here and in the latest release; for
    the summary, and nothing if there are no rows to compare."""
    if not releases or not columns:
        return {}
    before = releases[-1]
    now = _rows(shown)
    then = _rows(_read(layout.published(before.label), before))
    common = [name for name in columns if name in now.columns and name in then.columns]
    if not common:
        return {}
    here, there = (_unique(each, common) for each in (now, then))
    return {"plain_linked_to": before.label, "plain_linked_rows": len(here & there)}


def _rows(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The table that has the records."""
    return tables.get("table", tables.get("sensitive", pl.DataFrame()))


def _read(folder: Path, release: ReleaseRecord) -> dict[str, pl.DataFrame]:
    found = {}
    for name, files in release.tables(folder).items():
        ending = files[0].suffix.removeprefix(".")
        table = pl.concat([FORMATS[ending].read(each) for each in files])
        found[name] = as_meant(table) if ending == "csv" else table
    return found


def _unique(rows: pl.DataFrame, columns: Sequence[str]) -> set[str]:
    """The combinations of cells that one row alone has. Rows without any cell are left out."""
    rows = rows.filter(~pl.all_horizontal(pl.col(columns).is_null()))
    cells = [(_BETWEEN + _text(pl.col(name))).fill_null("") for name in columns]
    together = rows.select(pl.concat_str(cells, separator=_BETWEEN).alias("cells"))
    return set(together.filter(pl.col("cells").is_unique())["cells"])


def _text(cell: pl.Expr) -> pl.Expr:
    """A cell as text. A whole number is written as 5 where all numbers of its column are whole, and
    as 5.0 in other releases."""
    return cell.cast(pl.String).str.strip_suffix(".0")
