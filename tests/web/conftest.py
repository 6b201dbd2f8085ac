"""A small series for the site to show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import serigraph
from web.asking import JOBS

SECRET = "Zebra-4711"  # an id and a cell that no log, address or error may show


def table_of(people: int, seed: int = 0) -> pl.DataFrame:
    """A table with an id, two quasi-identifiers and a diagnosis that few people share."""
    numbers = range(people)
    return pl.DataFrame(
        {
            "patient": [f"P{number:04d}" for number in numbers],
            "born": [1940 + (number * 7 + seed) % 60 for number in numbers],
            "sex": ["f" if number % 2 else "m" for number in numbers],
            "diagnosis": [
                "HIV" if (number + seed) % 40 == 0 else ("flu", "asthma", "fracture")[number % 3]
                for number in numbers
            ],
        }
    )


POLICY = """version = 1
[person]
id = "patient"
[quasi_identifiers.born]
kind = "numeric"
[quasi_identifiers.sex]
kind = "categorical"
[sensitive]
column = "diagnosis"
[protected]
values = ["HIV"]
[protected.persistence]
default = "transient"
[guarantee]
threshold = "1/2"
minimum_group_size = 5
[strategy]
name = "constant"
releases = 3
"""


@pytest.fixture(autouse=True, scope="session")
def _no_worker_is_left() -> Iterator[None]:
    yield
    JOBS.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one series, ``clinic``, that has no release yet, and a table beside it."""
    root = tmp_path / "data"
    root.mkdir()
    serigraph.Series.create(root / "clinic", {"policy.toml": POLICY.encode()})
    table_of(240).write_csv(tmp_path / "2024H1.csv")
    return root


@pytest.fixture
def published(folder: Path) -> Path:
    """The same with a release."""
    serigraph.publish(table_of(240), folder / "clinic", label="2024H1")
    return folder
