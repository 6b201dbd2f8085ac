"""The package in a notebook: names to complete, results in a few lines, ids in a pandas index."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import serigraph
from audit.series_examples import policy, registry, tables
from serigraph.auditing import audit_series
from serigraph.errors import TableError
from serigraph.ledger import Series
from serigraph.tables import read_table

EVIL = "<script>alert('HIV')</script>"


@pytest.mark.parametrize("package", ["", ".publishing", ".engines", ".tables"])
def test_dir_shows_what_is_loaded_on_demand(package: str) -> None:
    module = importlib.import_module(f"serigraph{package}")
    assert set(module.__all__) <= set(dir(module))


def test_dir_loads_nothing() -> None:
    """A new process: here everything is loaded already."""
    script = "import serigraph, sys; print('publish' in dir(serigraph), 'polars' in sys.modules)"
    said = subprocess.check_output([sys.executable, "-c", script], text=True, env=os.environ)
    assert said.split() == ["True", "False"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """One of every kind of result, of a series whose folder and values are written as HTML."""
    folder = tmp_path_factory.mktemp("notebook") / "<b>clinic"
    known = registry(500)
    first, second, third = (
        table.with_columns(pl.col("diagnosis").replace("HIV", EVIL))
        for table in tables(known, 3, 300)
    )
    begun = serigraph.init(folder, first)
    (folder / "policy.toml").write_text(policy())
    series = Series.open(folder)
    published = [
        serigraph.publish(table, series, registry=known, label=label)
        for label, table in {"r1": first, "r2": second}.items()
    ]
    return [
        begun,
        *published,
        published[0].record,
        serigraph.status(series),
        serigraph.history(series, first["patient"][0], EVIL),
        serigraph.plan(third, series, registry=known, releases=4, lengths=[4]),
        serigraph.audit(series),
        audit_series(series),
        serigraph.report(series),
        serigraph.verify(published[0].folder / "certificate.json"),
        serigraph.evaluate(series, [first], registry=known),
        series,
    ]


def test_every_result_says_in_a_few_lines_what_it_is(results: list[Any]) -> None:
    for result in results:
        lines = repr(result).splitlines()
        assert lines[0].startswith(type(result).__name__)
        assert 1 <= len(lines) <= 12, repr(result)
        assert max(map(len, lines)) <= 130 or isinstance(result, Series)
        assert "secret-" not in repr(result)


OF_CHARTS = {
    "style",
    "div",
    "svg",
    "g",
    "title",
    "desc",
    "text",
    "line",
    "rect",
    "polyline",
    "circle",
}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


def test_in_a_notebook_they_are_tables_with_everything_escaped(results: list[Any]) -> None:
    shown = [each._repr_html_() for each in results if hasattr(each, "_repr_html_")]
    assert len(shown) == len(results) - 2  # a Series and an Examined have text alone
    drawn = 0
    for html in shown:
        reader = Tags()
        reader.feed(html)
        of_table = {"table", "caption", "tr", "th", "td"}
        assert reader.tags - OF_CHARTS == of_table
        drawn += "svg" in reader.tags
        assert "onload" not in html
        assert "secret-" not in html
    assert drawn == 5  # two releases, status, plan and audit
    assert any("&lt;b&gt;clinic" in html for html in shown)
    assert any("&lt;script&gt;" in html for html in shown)


def test_an_id_in_the_index_of_a_pandas_frame_is_found() -> None:
    frame = pd.DataFrame({"patient": ["P1", "P2"], "age": [30, 40]})
    expected = pl.DataFrame({"patient": ["P1", "P2"], "age": [30, 40]})
    assert read_table(frame.set_index("patient")).equals(expected)
    assert read_table(frame.set_index("patient", drop=False)).equals(expected)
    assert read_table(frame.set_index(["patient", "age"])).equals(expected)
    assert read_table(frame[frame["age"] > 30]).columns == ["patient", "age"]


def test_an_id_in_an_index_without_a_name_is_refused_with_what_to_do(tmp_path: Path) -> None:
    known = registry(60)
    (table,) = tables(known, 1, 40)
    frame = table.drop("patient").to_pandas()
    frame.index = pd.Index(table["patient"].to_list())
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy().encode()})
    with pytest.raises(TableError, match=r"rename_axis") as refused:
        serigraph.publish(frame, series)
    assert "secret-" not in str(refused.value)
    frame.index.name = "patient"
    assert serigraph.publish(frame, series).figures["present"] > 0
