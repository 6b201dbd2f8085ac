"""Documents are public: they must not depend on which member of a group holds a value."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from serigraph.ledger import Series
from serigraph.runtime.randomness import SeededRandomness

POLICY = """version = 1
[person]
id = "id"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.zip]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
values = ["HIV"]
[guarantee]
threshold = "1/2"
[strategy]
name = "constant"
releases = 3
[output]
form = "{form}"
files = ["csv"]
"""
AT = datetime(2026, 1, 1, tzinfo=UTC)


def people(holder: int) -> pl.DataFrame:
    draw = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "id": range(60),
            "age": draw.integers(0, 90, 60),
            "zip": draw.integers(0, 50, 60),
            "diagnosis": ["HIV" if number == holder else "flu" for number in range(60)],
        }
    )


def published(path: Path, form: str, holder: int) -> tuple[dict[str, str], list[int]]:
    """The public files, without what is random by design, and the members of the holder's group."""
    series = Series.create(path, {"policy.toml": POLICY.format(form=form).encode()})
    made = serigraph.publish(
        people(holder), series, label="r", randomness=SeededRandomness(1), published_at=AT
    )
    serigraph.export(path, path.parent / f"{path.name}-exported")
    ledger = path.parent / f"{path.name}-exported"
    group = pl.read_parquet(ledger / "values.parquet")["group"][0]
    members = pl.read_parquet(ledger / "members.parquet").filter(pl.col("group") == group)
    digest = re.compile(r"[0-9a-f]{8,}")  # those of the chain have a secret salt
    files = {}
    for each in made.folder.iterdir():
        text = each.read_text(encoding="utf-8")
        rows = sorted(text.splitlines())  # in random order
        files[each.name] = "\n".join(rows) if each.suffix == ".csv" else digest.sub("", text)
    return files, sorted(members["person"].cast(pl.Int64))


@pytest.mark.parametrize("form", ["bucketised", "generalised"])
def test_every_world_with_the_same_tables_has_the_same_documents(form: str, tmp_path: Path) -> None:
    files, members = published(tmp_path / "first", form, holder=7)
    assert len(members) > 1
    assert 7 in members
    assert {"report.html", "certificate.json"} <= files.keys()
    for other in members:
        again, same = published(tmp_path / f"world-{other}", form, holder=other)
        assert same == members
        assert again == files
