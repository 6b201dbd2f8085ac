"""One case from one seed: a folder with a series, a table and a command, each more or less odd."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
import openpyxl
import polars as pl
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

import serigraph
from fuzz.odd_texts import CELLS, LABELS, NAMES, NUMBERS, TEXTS, bytes_flipped

UNSPOILT = 0  # the seed of a case in which nothing is odd
SECRET = "idq"  # how every id begins, which nothing may print
POLICY = """\
version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.born]
kind = "date"
[quasi_identifiers.zip]
kind = "categorical"
taxonomy = "zip.csv"
new_values = "branch"
[sensitive]
column = "diagnosis"
form = "single"
[protected]
values = ["hiv", "gout"]
unheld = "allow"
[guarantee]
threshold = "1/2"
minimum_group_size = 2
[strategy]
name = "constant"
releases = 3
[output]
form = "generalised"
files = ["csv", "parquet"]
[missing]
quasi_identifiers = "value"
[reading]
null_values = ["NA"]
"""
ONE_COLUMN = POLICY[POLICY.index("[sensitive]") : POLICY.index("[guarantee]")]
RECORDS = """\
[sensitive.diagnosis]
[sensitive.diagnosis.protected]
values = ["hiv", "gout"]
unheld = "allow"
[sensitive.drug]
form = "delimited"
delimiter = "+"
[sensitive.drug.protected]
values = ["azt"]
unheld = "allow"
[plain]
stay = "numeric"
"""
POLICIES = (
    POLICY,
    POLICY.replace(ONE_COLUMN, RECORDS),
    POLICY.replace(ONE_COLUMN, f'{ONE_COLUMN}[protected.persistence]\ndefault = "any"\n'),
)
TAXONOMY = "1010;10**;*\n1020;10**;*\n2010;20**;*\n2020;20**;*\n"
HEADER = ["patient", "age", "born", "zip", "diagnosis", "drug", "stay"]
DRAFT = "2024H2"
KEYS = (
    *("factor", "link_chances", "l", "delimiter", "quote", "encoding", "decimal", "date_format"),
    *("query", "replan", "clearance", "rarest", "except", "type", "unique_values", "missing"),
)
ODD_ENTRIES = (
    *("1/0", "1e-5000", "9" * 5000, "1/" + "9" * 5000, -1, 10**400, None, [], {}, "", "½", 1.5),
    *("../..", ["draft.json"], {"../../policy.toml": "0"}),
)
Rows = list[list[str]]


@dataclass(frozen=True)
class Case:
    """A command to run in a folder that holds the ``series``."""

    seed: int
    arguments: list[str]
    series: Path


def people(draw: Random, number: int) -> Rows:
    return [
        [
            f"{SECRET}{draw.randrange(10**6):06}",
            str(draw.randrange(20, 90)),
            f"{draw.randrange(1930, 2005)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
            draw.choice(("1010", "1020", "2010", "2020")),
            draw.choice((*("flu", "cold", "asthma") * 3, "hiv", "gout")),
            draw.choice(("", "none", "none+other", "other", "azt+other")),
            str(draw.randrange(1, 30)),
        ]
        for _ in range(number)
    ]


def template(folder: Path) -> Path:
    """A series with one release and a draft of the next, which every case gets a copy of."""
    series = folder / "template"
    table = pl.DataFrame(people(Random(0), 60), schema=HEADER, orient="row")
    serigraph.init(series, table)
    (series / "policy.toml").write_text(POLICY)
    (series / "zip.csv").write_text(TAXONOMY)
    serigraph.publish(table, series, label="2024H1")
    table = pl.DataFrame(people(Random(3), 60), schema=HEADER, orient="row")
    serigraph.draft(table, series, label=DRAFT, new_people=True)
    return series


def make_case(seed: int, template: Path, folder: Path) -> Case:
    """The case of a seed, in a folder that is there and empty."""
    draw = Random(seed)
    if seed == UNSPOILT:
        return _unspoilt(template, folder)
    series = folder / "series"
    shutil.copytree(template, series)
    if draw.random() < 0.35:
        _spoil_policy(series / "policy.toml", draw)
        if draw.random() < 0.7:  # policies of series that have begun are hardly looked at
            shutil.rmtree(series)
            fresh = pl.DataFrame(people(Random(1), 40), schema=HEADER, orient="row")
            serigraph.init(series, fresh)
            shutil.copy(template / "zip.csv", series)
            (series / "policy.toml").write_text(draw.choice(POLICIES))
            if draw.random() < 0.7:
                _spoil_policy(series / "policy.toml", draw)
    if draw.random() < 0.1:
        (series / "zip.csv").write_bytes(_odd_taxonomy(draw))
    if draw.random() < 0.1:
        _spoil_draft(series, draw)
    table = _table(folder, draw)
    arguments = _command(draw, table, series, folder)
    return Case(seed, arguments + ["--json"] * (draw.random() < 0.3), series)


def _unspoilt(template: Path, folder: Path) -> Case:
    """A table that can be published."""
    series, table = folder / "series", folder / "table.csv"
    shutil.copytree(template, series)
    rows = [HEADER, *people(Random(2), 60)]
    table.write_text("".join(",".join(row) + "\n" for row in rows))
    return Case(UNSPOILT, ["publish", str(table), "--series", str(series)], series)


def _spoil_policy(path: Path, draw: Random) -> None:
    lines = path.read_text().splitlines()
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(1, len(lines))
        key, equals, _ = lines[at].partition(" = ")
        match draw.randrange(6):
            case 0 | 1 | 2 if equals:
                lines[at] = f"{key} = {draw.choice(draw.choice((NUMBERS, TEXTS)))}"
            case 3:
                known = draw.choice(KEYS)
                lines.insert(at + 1, f"{known} = {draw.choice(draw.choice((NUMBERS, TEXTS)))}")
            case 4 if lines[at].startswith("[quasi"):
                lines[at] = f"[quasi_identifiers.{json.dumps(draw.choice(NAMES))}]"
            case 5:
                del lines[at]
    text = "\n".join(lines)
    if draw.random() < 0.2:
        text = re.sub("constant", draw.choice(("geometric", "schedule")), text)
    content = text.encode()
    path.write_bytes(bytes_flipped(content, draw) if draw.random() < 0.1 else content)


def _spoil_draft(series: Path, draw: Random) -> None:
    """Damage one file of a draft, or give its manifest an odd entry and a name that fits."""
    files = sorted(path for path in series.glob("drafts/*/**/*") if path.is_file())
    if not files:
        return
    path = draw.choice(files)
    if path.name != "draft.json" or draw.random() < 0.5:
        path.write_bytes(bytes_flipped(path.read_bytes(), draw))
        return
    known = json.loads(path.read_text())
    known[draw.choice(sorted(known))] = draw.choice(ODD_ENTRIES)
    path.write_text(json.dumps(known))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    with suppress(OSError, ValueError):  # the odd entry may be a label that is no name
        path.parent.rename(path.parents[1] / f"{known['label']}-{digest}")


def _odd_taxonomy(draw: Random) -> bytes:
    lines = TAXONOMY.splitlines()
    lines.insert(draw.randrange(5), ";".join(draw.choice(CELLS) for _ in range(draw.randrange(5))))
    content = "\n".join(lines).encode(errors="replace")
    return bytes_flipped(content, draw) if draw.random() < 0.5 else content


def _table(folder: Path, draw: Random) -> Path:
    rows = [[*HEADER], *people(draw, draw.choice((0, 1, 12, 40, 40, 40)))]
    for _ in range(draw.choice((0, 0, 1, 1, 3, 8))):
        at = draw.randrange(len(rows))
        row = rows[at]
        match draw.randrange(8):
            case 0 if row:
                row[draw.randrange(len(row))] = draw.choice(NAMES if at == 0 else CELLS)
            case 1 | 2 | 3 if row and at:
                row[draw.randrange(len(row))] = draw.choice(CELLS)
            case 4:
                row.append(draw.choice(CELLS))
            case 5 if row:
                row.pop()
            case 6:
                rows.append([*row])
            case 7:
                column, odd = draw.randrange(len(HEADER)), draw.choice(CELLS)
                for each in rows[1:]:
                    each[column:] = [odd, *each[column + 1 :]]
    kind = draw.choice(
        (
            *("csv", "csv", "csv", "quoted", "gz", "utf-16", "latin", "parquet", "arrow"),
            *("sqlite", "duckdb", "xlsx"),
        )
    )
    if kind in ("sqlite", "duckdb", "xlsx"):
        return _database(folder, rows, kind, draw)
    if kind in ("parquet", "arrow"):
        return _typed(folder, rows, kind, draw)
    return _text_file(folder, rows, kind, draw)


def _text_file(folder: Path, rows: Rows, kind: str, draw: Random) -> Path:
    delimiter = draw.choice(",,,;\t|")
    cells = [[f'"{cell}"' if kind == "quoted" else cell for cell in row] for row in rows]
    text = draw.choice(("\n", "\n", "\r\n", "\r")).join(delimiter.join(row) for row in cells)
    text += draw.choice(("\n", "", "\n\n"))
    encoding = {"utf-16": "utf-16", "latin": "latin-1"}.get(kind, "utf-8")
    content = text.encode(encoding, errors="replace")
    if draw.random() < 0.15:
        content = bytes_flipped(content, draw)
    path = folder / ("table.csv.gz" if kind == "gz" else "table.csv")
    path.write_bytes(gzip.compress(content) if kind == "gz" else content)
    return path


def _database(folder: Path, rows: Rows, kind: str, draw: Random) -> Path:
    """A database or a workbook; cells that it cannot hold are cut short or left out."""
    width, path = max(len(rows[0]), 1), folder / f"table.{kind}"
    names = [name.replace("\0", "")[:200] or "?" for name in rows[0]] or ["patient"]
    cells = [([*row, *[None] * width][:width]) for row in rows[1:]]
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in (names, *cells):
            shown = [
                ILLEGAL_CHARACTERS_RE.sub("", cell)[:30_000] if cell is not None else None
                for cell in row
            ]
            book.active.append(shown)
        book.save(path)
    else:
        columns = dict.fromkeys(name.casefold() for name in names)
        quoted = ", ".join('"' + name.replace('"', '""') + '" varchar' for name in columns)
        marks = ", ".join("?" for _ in columns)
        connect = sqlite3.connect if kind == "sqlite" else duckdb.connect
        with closing(connect(str(path))) as connection:
            connection.execute(f"create table visits ({quoted})")
            for row in cells:
                with suppress(duckdb.Error, UnicodeError):  # a cell that it cannot hold
                    connection.execute(f"insert into visits values ({marks})", row[: len(columns)])
            connection.commit()
    if draw.random() < 0.3:
        path.write_bytes(bytes_flipped(path.read_bytes(), draw))
    return path


def _typed(folder: Path, rows: Rows, kind: str, draw: Random) -> Path:
    """A table with types, some of which nobody expects in their column."""
    names = list(dict.fromkeys(rows[0])) or ["patient"]
    number = len(rows) - 1
    ids = [row[0] if row else "" for row in rows[1:]]
    columns = {
        name: pl.Series(name, [row[i] if i < len(row) else None for row in rows[1:]])
        for i, name in enumerate(names)
    }
    odd: list[object] = [
        [Decimal(f"{i}.50") for i in range(number)],
        [timedelta(seconds=i) for i in range(number)],
        [time(i % 24) for i in range(number)],
        [datetime(2000, 1, 1 + i % 28, i % 24) for i in range(number)],
        [date(1 + i, 1, 1) for i in range(number)],
        [bytes([i % 256]) for i in range(number)],
        [[i, None] for i in range(number)],
        [{"a": i} for i in range(number)],
        [float("nan")] * number,
        [2**63 + i for i in range(number)],
        [None] * number,
        [i % 2 == 0 for i in range(number)],
    ]
    for name in draw.sample(names, draw.randrange(len(names) + 1)):
        made = draw.choice(odd)
        kind_of = pl.UInt64 if made is odd[9] else None
        columns[name] = pl.Series(name, made, dtype=kind_of)
    if draw.random() < 0.3:
        columns["patient"] = pl.Series("patient", ids).cast(pl.Categorical)
    content = io.BytesIO()
    frame = pl.DataFrame(list(columns.values()))
    frame.write_parquet(content) if kind == "parquet" else frame.write_ipc(content)
    written = content.getvalue()
    path = folder / f"table.{kind}"
    path.write_bytes(bytes_flipped(written, draw) if draw.random() < 0.4 else written)
    return path


def _command(draw: Random, table: Path, series: Path, folder: Path) -> list[str]:
    publish = ["publish", str(table), "--series", str(series)]
    match draw.randrange(22):
        case 0:
            return ["init", str(folder / "new"), "--from", str(table)]
        case 1:
            roles = ["--person", draw.choice(NAMES), "--sensitive", draw.choice((*NAMES, "zip"))]
            roles = [each.replace("\0", "?") for each in roles]
            return ["init", str(folder / "new"), "--from", str(table), *roles]
        case 2:
            odd = draw.choice(LABELS).replace("\0", "")
            return [*publish, f"--label={odd}"]
        case 3:
            asked = draw.choice(("--l", "--k", "--alpha", "--releases", "--return-rate"))
            wanted = draw.choice(NUMBERS).strip('"')[:2000]
            return ["plan", str(table), "--series", str(series), f"{asked}={wanted}"]
        case 4:
            return ["verify", str(_odd_certificate(series, draw))]
        case 5:
            asked = draw.choice(CELLS).replace("\0", "")[:50_000]
            return [
                "history",
                str(series),
                f"--person={asked}",
                f"--value={draw.choice(CELLS[12:])}",
            ]
        case 6:
            return [*publish, f"--wait={draw.choice(('nan', '-1', '0', '-inf', '1e-5000'))}"]
        case 7:
            return [*publish, "--registry", str(table), "--allow-suppression"]
        case 8:
            return [draw.choice(("status", "audit", "report")), str(series)]
        case 9:
            return [*publish, f"--query={draw.choice(CELLS[12:])[:5000]}"]
        case 10:
            return ["draft", *publish[1:], "--allow-suppression"]
        case 11:
            named = draw.choice((DRAFT, DRAFT, *(name.replace("\0", "") for name in LABELS)))
            return ["publish", f"--draft={named}", "--series", str(series)]
        case 12:
            named = draw.choice((DRAFT, *(name.replace("\0", "") for name in LABELS)))
            return ["drafts", str(series), f"--{draw.choice(('show', 'discard'))}={named}"]
        case 13:
            return [*publish, "--dry-run"]
        case 14:
            raw = ["--raw", str(table)] * draw.randrange(2)
            return [draw.choice(("attack", "audit")), str(series), *raw]
        case 15:
            return ["approve", DRAFT, "--series", str(series), "--key", str(table)]
        case _:
            return publish + ["--allow-suppression"] * (draw.random() < 0.5)


def _odd_certificate(series: Path, draw: Random) -> Path:
    found = sorted(series.glob("releases/*/certificate.json"))
    if not found:
        return series / "nothing.json"
    path, text = found[0], found[0].read_text()
    if draw.random() < 0.3:
        path.write_bytes(bytes_flipped(text.encode(), draw))
        return path
    given = json.loads(text)
    place = draw.choice((given, given["guarantee"], given["figures"]))
    place[draw.choice(sorted(place))] = draw.choice(ODD_ENTRIES)
    path.write_text(json.dumps(given))
    return path
