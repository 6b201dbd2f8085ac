"""Tables that a PostgreSQL server holds: read only, in types, and without a word of the data."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import psycopg
import pytest

import serigraph
from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables import prepare, read_table
from tables.examples import clinic_policy, clinic_table
from tables.postgres_server import PASSWORD, QUOTED, Server, running_server
from tables.test_canonical import FRAME, has_the_same_cells
from tables.test_formats import EXPECTED, same


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


def read(server: Server, query: str) -> pl.DataFrame:
    return read_table(server.address, Reading(query=query))


def refusal(server: Server, query: str) -> TableError:
    with pytest.raises(TableError) as caught:
        read(server, query)
    told = str(caught.value)
    assert caught.value.remedy
    assert not any(word in told for word in (PASSWORD, QUOTED, "sesame", "tester", "secret"))
    return caught.value


def test_a_table_of_the_server_is_the_same_as_a_file(server: Server) -> None:
    columns = "patient int, age smallint, born date, zip varchar(9), diagnosis text"
    server.fill("clinic", columns, clinic_table().rows())
    for query in ("clinic", "public.clinic", "select * from clinic order by zip;"):
        assert same(prepare(read(server, query), clinic_policy()).population, EXPECTED)
    server.run("drop table clinic")


@pytest.mark.parametrize(
    "columns",
    [
        "whole int, half real, name text, day date",
        "whole numeric(9, 3), half float8, name char(20), day timestamp",
        "whole bigint, half numeric, name varchar, day timestamptz",
    ],
)
def test_a_cell_is_the_same_in_every_type(server: Server, columns: str) -> None:
    server.run("alter database postgres set timezone to 'UTC'")
    server.fill("cells", columns, FRAME.rows())
    has_the_same_cells(read_table(server.address))  # the only table needs no query
    server.run("drop table cells")


def test_types_beyond_numbers_and_texts(server: Server) -> None:
    row = read(
        server,
        "select true as t, 1e-15::numeric as tiny, 1e-7::numeric as small, "
        "12345678901234567890.5::numeric as big, "
        "array['a', 'b'] as list, '{\"a\": 1}'::jsonb as json, 'NaN'::float8 as nan, "
        "'10:30'::time as time, '1 day'::interval as span, '\\x41'::bytea as bytes, "
        "'9b9d2c4e-7f3a-4d36-8a53-5c8c4d3c1a11'::uuid as uuid, null::int as nothing, "
        "timestamp '2024-01-31 10:00' as stamp, '{1,2}'::int[] as numbers",
    )
    found = row.row(0, named=True)
    assert (found["t"], found["list"], found["numbers"]) == (True, ["a", "b"], [1, 2])
    assert found["small"] == Decimal("1e-7")
    assert found["tiny"] == Decimal("1e-15")
    assert found["big"] == Decimal("12345678901234567890.5")
    assert found["json"] == '{"a": 1}'
    assert found["uuid"] == "9b9d2c4e-7f3a-4d36-8a53-5c8c4d3c1a11"
    assert (found["span"], found["bytes"], found["nothing"]) == (timedelta(days=1), b"A", None)
    assert found["stamp"] == datetime(2024, 1, 31, 10)
    assert row.schema["time"] == pl.Time


def test_many_rows_come_by_portions(server: Server) -> None:
    table = read(
        server,
        "select i as id, case when i > 60000 then i::text end as late "
        "from generate_series(1, 120000) i",
    )
    assert table.height == 120_000
    assert table["late"].null_count() == 60_000
    assert table["id"].sum() == 120_000 * 120_001 // 2
    empty = read(server, "select 1 as a, 'x'::text as b where false")
    assert empty.schema == {"a": pl.Int64, "b": pl.String}


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("visits", 'relation "visits" does not exist'),
        ("select absent from kept", 'column "absent" does not exist'),
        ("selec 1", "syntax error"),
        ("insert into kept values ('x') returning a", "syntax error"),
        ("select 1; drop table kept", "cannot insert multiple commands"),
        ("select 1; commit; drop table kept", "cannot insert multiple commands"),
        ("select nextval('counted')", "read-only transaction"),
        ("select a::int from kept", "the query failed: InvalidTextRepresentation"),
        ("select a::date from kept", "the query failed: InvalidDatetimeFormat"),
        ("select 1 as a, 2 as a", "columns of the query have the same name"),
        ("select 'infinity'::date as a", "something that no table can hold"),
        ("select 1e60::numeric as a", "something that no table can hold"),
        ("select pg_terminate_backend(pg_backend_pid())", "the connection to the server was lost"),
    ],
)
def test_what_a_query_cannot_do(server: Server, query: str, why: str) -> None:
    server.run("create sequence if not exists counted")
    server.fill("kept", "a text", [("secret",)])
    assert why in str(refusal(server, query))
    assert read(server, "kept").rows() == [("secret",)]


def test_which_table_is_meant(server: Server) -> None:
    server.run("create table one (a int)", "create table two (a int)")
    with pytest.raises(TableError, match=r"has \d tables"):
        read_table(server.address)
    server.run("drop table one", "drop table two")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("sesame", "barley"), "refuses the login"),
        (("/postgres", "/absent"), "no such database"),
    ],
)
def test_logins_that_fail(server: Server, change: tuple[str, str], why: str) -> None:
    with pytest.raises(TableError, match=why) as caught:
        read_table(server.address.replace(*change))
    assert not any(word in str(caught.value) for word in ("sesame", "barley", "tester", "absent"))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://tester:open sesame@127.0.0.1:{port}/x",
        "postgres://127.0.0.1:{port}/x?user=tester&password=sesame",
        "postgresql://tester:sesame@127.0.0.1:port/x",
        "postgresql://tester:%zzsesame@127.0.0.1/x",
        "postgresql://tester:pa/sesame@127.0.0.1/x?option=no",
    ],
)
def test_an_address_never_shows_its_password(
    address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as nobody:  # bound, but it does not listen
        nobody.bind(("127.0.0.1", 0))
        with caplog.at_level(logging.DEBUG), pytest.raises(TableError) as caught:
            serigraph.init(tmp_path / "s", address.format(port=nobody.getsockname()[1]))
    assert "sesame" not in str(caught.value) + repr(caught.value) + caplog.text
    assert "tester" not in str(caught.value)
    assert not (tmp_path / "s").exists()


def test_nothing_changes_when_the_connection_is_lost_in_the_middle(
    server: Server, tmp_path: Path, values_may_stay: None
) -> None:
    people = [(i, i % 90, "flu" if i % 40 else "HIV") for i in range(200)]
    server.fill("visits", "patient int, age int, diagnosis text", people)
    begun = serigraph.init(tmp_path / "s", server.address, query="visits", persistence="transient")
    policy = begun.policy.read_text()
    assert "sesame" not in policy
    query = "select v.*, pg_sleep(0.05)::text as slow from visits v"

    def cut() -> None:
        with psycopg.connect(server.address, autocommit=True) as connection:
            while not connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where application_name = 'serigraph' and query ilike 'fetch%'"
            ).fetchall():
                pass

    cutting = threading.Thread(target=cut)
    cutting.start()
    with pytest.raises(TableError, match="connection to the server was lost"):
        serigraph.publish(server.address, tmp_path / "s", query=query)
    cutting.join()
    assert serigraph.status(tmp_path / "s").releases == ()
    release = serigraph.publish(server.address, tmp_path / "s", query="visits")
    assert release.record.label == "release-1"
    for file in (tmp_path / "s").rglob("*"):
        assert not file.is_file() or b"sesame" not in file.read_bytes()
    server.run("drop table visits")
