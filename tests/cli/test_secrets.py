"""Whatever is wrong with a table, no error shows what is in a cell of it."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.running import run
from model.settings import about
from publishing.clinic import new_series, policy_text

COLUMNS = """\
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.born]
kind = "date"
[quasi_identifiers.zip]
kind = "categorical"
taxonomy = "taxonomies/zip.csv"
"""
HEADER = ["patient", "age", "born", "zip", "diagnosis"]
Rows = list[list[str]]


def people(number: int, draw: random.Random) -> Rows:
    """A table in which every cell can be told from every other text."""
    return [
        [
            f"idq{draw.randrange(10**9):09}",
            f"{draw.randrange(10**8, 10**9)}",
            f"{draw.randrange(1900, 2020)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
            str(draw.choice([1010, 1111, 1212])),
            f"dxq{draw.randrange(10**9):09}",
        ]
        for _ in range(number)
    ]


def _spoil_cell(column: int, text: str) -> Callable[[Rows, int], None]:
    def spoil(rows: Rows, at: int) -> None:
        if column < len(rows[at]):  # another spoil may have taken the cell away
            rows[at][column] = text.format(cell=rows[at][column])

    return spoil


def _repeat_person(rows: Rows, at: int) -> None:
    rows.append([*rows[at][:1], *rows[at - 1][1:]])


SPOILS: dict[str, Callable[[Rows, int], None]] = {
    "no id": _spoil_cell(0, ""),
    "a text as a number": _spoil_cell(1, "about {cell}secretq"),
    "an infinite number": _spoil_cell(1, "inf"),
    "a decimal comma and a point": _spoil_cell(1, "1.234.567,8secretq"),
    "a text as a date": _spoil_cell(2, "secretq {cell}"),
    "an impossible date": _spoil_cell(2, "1975-19-77"),
    "an unknown leaf": _spoil_cell(3, "secretq7777"),
    "a person twice": _repeat_person,
    "a cell too many": lambda rows, at: rows[at].append("secretq-more"),
    "a cell too few": lambda rows, at: rows[at].pop() and None,
    "a quote that never ends": _spoil_cell(4, '"{cell} secretq'),
    "a null character": _spoil_cell(4, "{cell}\x00secretq"),
}
FILES: dict[str, Callable[[bytes], bytes]] = {
    "t.csv": lambda text: text,
    "cut.csv": lambda text: text[: len(text) * 2 // 3],
    "latin.csv": lambda text: text + b"idq\xe9\xff\xfe,secretq\xe9,x,y,z\n",
    "t.csv.gz": gzip.compress,
    "t.parquet": lambda text: text,
    "cut.parquet": lambda text: b"PAR1" + text + b"PAR1",
    "t.arrow": lambda text: b"ARROW1\x00\x00" + text,
    "t.sav": lambda text: b"$FL2" + text,
}


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_series(
        tmp_path_factory.mktemp("secret") / "clinic", policy_text(columns=COLUMNS)
    ).path


@settings(about(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(sorted(SPOILS)), max_size=4),
    st.lists(st.sampled_from(HEADER), max_size=2, unique=True),
    st.sampled_from(sorted(FILES)),
    st.booleans(),
)
def test_no_error_shows_a_cell(
    series: Path,
    tmp_path: Path,
    seed: int,
    spoils: list[str],
    dropped: list[str],
    name: str,
    as_json: bool,
) -> None:
    draw = random.Random(seed)
    rows = people(12, draw)
    cells = {cell for row in rows for cell in row if len(cell) > 4}
    for spoil in spoils:
        SPOILS[spoil](rows, draw.randrange(1, 12))
    lines = [[*HEADER], *rows]
    for column in dropped:
        place = lines[0].index(column)
        lines = [[*line[:place], *line[place + 1 :]] for line in lines]
    text = "\n".join(",".join(line) for line in lines) + "\n"
    (tmp_path / name).write_bytes(FILES[name](text.encode()))
    registry = ["--registry", tmp_path / name] if draw.random() < 0.3 else []
    arguments = ["publish", tmp_path / name, "--series", series, *registry]
    ran = run(*arguments, *(["--json"] if as_json else []))
    # Whoever holds a value of its own among twelve people cannot be published under 1/2 in any
    # case, so that every table is refused, for one reason or another; that it is the values that
    # do not fit is said by their names, which the publisher has to know.
    assert ran.code in (3, 4), ran.err
    if ran.code == 3:
        printed = ran.out + ran.err
        assert "secretq" not in printed
        assert not [cell for cell in cells if cell in printed]
        assert "1975-19-77" not in printed
    if as_json:
        assert ran.json["error"]
    assert "Traceback" not in ran.err
    begun = run("init", tmp_path / f"new-{seed}", "--from", tmp_path / name)
    assert begun.code in (0, 3, 6)
    if begun.code == 3:
        assert not [cell for cell in {*cells, "secretq"} if cell in begun.out + begun.err]
