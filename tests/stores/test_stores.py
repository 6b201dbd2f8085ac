"""Tables from stores that run on this machine: the same as from the disk, and refused in words of
our own where there is no table, no right, or no connection any more."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

pytest.importorskip("s3fs", reason="stores are tested by make test-stores")

import fsspec

import serigraph
from publishing.clinic import new_series
from publishing.series_digest import digest_of_series
from serigraph.errors import AlreadyPublished, TableError
from serigraph.tables import read_table
from stores.relay import Relay
from stores.servers import (
    ALONE,
    BUCKET,
    FILES_ONLY,
    NO_RIGHTS,
    SERVERS,
    STRANGER,
    Store,
)

POLICY = """
version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.ward]
kind = "categorical"
[sensitive]
column = "diagnosis"
[protected]
values = ["HIV"]
persistence = { default = "transient" }
[guarantee]
threshold = "1/2"
[strategy]
name = "constant"
releases = 3
"""
WARDS = ("A/B", "C & D", "Säuglinge", "100%")
PEOPLE = 400
CELLS = ("HIV", "flu-of-somebody", "P0007", *WARDS)
ENDPOINTS = {
    "AWS_ENDPOINT_URL": "FSSPEC_S3_ENDPOINT_URL",
    "STORAGE_EMULATOR_HOST": "FSSPEC_GS_ENDPOINT_URL",
    "AZURE_STORAGE_CONNECTION_STRING": "FSSPEC_ABFS_CONNECTION_STRING",
}


@pytest.fixture(scope="module", params=SERVERS)
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    with SERVERS[request.param](tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture(autouse=True)
def account(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, ALONE | store.environment())


@pytest.fixture
def relay(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """Between the reader and the server."""
    between = Relay(store.port)
    use(monkeypatch, store.environment(port=between.port))
    yield between
    between.close()


def use(monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def table(people: int = PEOPLE) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "patient": [f"P{number:04}" for number in range(people)],
            "age": [number % 90 for number in range(people)],
            "ward": [WARDS[number % 4] for number in range(people)],
            "diagnosis": ["flu-of-somebody" if each % 40 else "HIV" for each in range(people)],
        }
    )


def parquet(part: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    part.write_parquet(file)
    return file.getvalue()


def as_files(name: str) -> dict[str, bytes]:
    """The table as a file, or as the files of a folder with one folder for each ward."""
    if name.endswith(".csv"):
        return {name: table().write_csv().encode()}
    if name.endswith(".parquet"):
        return {name: parquet(table())}
    parts = {
        f"{name}/ward={quote(ward, safe='')}/part-0.parquet": parquet(part.drop("ward"))
        for (ward,), part in table().partition_by("ward", as_dict=True).items()
    }
    return parts | {f"{name}/_SUCCESS": b"done", f"{name}/_temporary/part-1.parquet": b"half"}


@pytest.mark.parametrize("name", ["a visit's März 100%.csv", "visits.parquet", "visits"])
def test_a_table_in_a_store_is_that_of_the_disk(name: str, store: Store, tmp_path: Path) -> None:
    for path, data in as_files(f"data/{name}").items():
        store.put(path, data)
    table().write_csv(tmp_path / "t.csv")
    on_disk = serigraph.publish(tmp_path / "t.csv", new_series(tmp_path / "disk", POLICY).path)
    series = new_series(tmp_path / "series", POLICY).path
    release = serigraph.publish(store.address(f"data/{name}"), series)
    assert release.record.table_digest == on_disk.record.table_digest
    with pytest.raises(AlreadyPublished):
        serigraph.publish(store.address(f"data/{name}"), tmp_path / "disk", label="again")
    assert not any(told(store, file.read_bytes()) for file in series.rglob("*") if file.is_file())


def test_the_commands_need_nothing_but_the_environment(store: Store, tmp_path: Path) -> None:
    """By both ways to say where the server is. Google's is asked without a key, and by the class
    of gcsfs that everybody gets."""
    store.put("visits.csv", table().write_csv().encode())
    store.put("people.parquet", parquet(table().drop("diagnosis")))
    environment = ALONE | store.environment()
    for name in ("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "GOOGLE_APPLICATION_CREDENTIALS"):
        environment.pop(name, None)
    other = {ENDPOINTS.get(name, name): value for name, value in environment.items()}
    here = ("PATH", "PYTHONPATH", "HOME")
    own = {name: os.environ[name] for name in here if name in os.environ}
    series, visits = str(tmp_path / "series"), store.address("visits.csv")
    for given, arguments in (
        (environment, ("init", series, "--from", visits, "--persistence", "transient")),
        (other, ("publish", visits, "--registry", store.address("people.parquet"))),
    ):
        where = () if arguments[0] == "init" else ("--series", series)
        done = subprocess.run(
            [sys.executable, "-m", "serigraph", *arguments, *where],
            env=own | given,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert not told(store, done.stdout + done.stderr)
        assert b"gcsfs" not in done.stderr
    assert [each.label for each in serigraph.status(series).releases] == ["visits"]


def test_other_ways_to_write_an_address(store: Store) -> None:
    store.put("visits.csv", table().write_csv().encode())
    addresses = {
        "s3": [f"s3a://{BUCKET}/visits.csv"],
        "gs": [f"gcs://{BUCKET}/visits.csv"],
        "abfs": [
            f"az://{BUCKET}/visits.csv",
            f"abfss://{BUCKET}@sesameclinic.dfs.core.windows.net/visits.csv",
        ],
    }
    for address in addresses[store.scheme]:
        assert read_table(address).height == PEOPLE


def test_what_was_put_into_a_folder_since_is_read_too(store: Store) -> None:
    for number in (1, 2):
        store.put(f"growing/part-{number}.parquet", parquet(table(number)))
        assert read_table(store.address("growing")).height == sum(range(number + 1))


def test_a_folder_of_more_files_than_one_answer_lists(store: Store) -> None:
    if store.scheme != "s3":
        pytest.skip("of these servers only Moto lists a thousand at a time")
    for number in range(1000):
        store.put(f"many/{number}.txt", b"HIV")
    store.put("many/visits.parquet", parquet(table()))
    assert read_table(store.address("many")).height == PEOPLE


class Refused:
    """Publishes what cannot be published, and looks at everything that it leaves behind."""

    def __init__(self, store: Store, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self._store, self._capfd = store, capfd
        self._series = new_series(folder / "series", POLICY).path
        serigraph.publish(table(), self._series, label="first")
        store.put("visits.csv", table(PEOPLE * 50).write_csv().encode())

    def __call__(self, path: str, *, bucket: str = BUCKET) -> TableError:
        before = digest_of_series(self._series)
        self._capfd.readouterr()
        with pytest.raises(TableError) as caught:
            serigraph.publish(f"{self._store.scheme}://{bucket}/{path}", self._series)
        assert digest_of_series(self._series) == before
        message = str(caught.value) + repr(caught.value)
        assert not told(self._store, message.encode())
        assert not any(cell in message for cell in CELLS)
        assert caught.value.remedy
        assert "".join(self._capfd.readouterr()) == ""
        return caught.value


@pytest.fixture
def refused(store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Refused:
    return Refused(store, tmp_path, capfd)


def told(store: Store, text: bytes) -> bool:
    return any(secret.encode() in text for secret in (*store.secrets, BUCKET))


def test_what_is_not_there(store: Store, refused: Refused) -> None:
    for path, bucket in (
        ("absent.csv", BUCKET),
        ("absent/folder", BUCKET),
        ("visits.csv", "other"),
    ):
        error = refused(path, bucket=bucket)
        assert error.what == "there is no file at this address"
        assert error.where == f"{store.scheme}://.../{path.rpartition('/')[2]}"


def test_a_folder_without_a_table(store: Store, refused: Refused) -> None:
    store.put("notes/read me.txt", b"HIV")
    assert "without Parquet files" in refused("notes").what
    store.put("half/part-0.parquet", parquet(table())[:900])
    error = refused("half")
    assert "damaged or cut short" in error.what
    assert error.where.endswith("/half/part-0.parquet")


def test_a_key_that_the_store_does_not_know(
    store: Store, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_table(store.address("visits.csv")).height == PEOPLE * 50
    use(monkeypatch, store.environment(STRANGER))
    assert "the store refuses access" in refused("visits.csv").what


def test_an_account_without_the_right(
    store: Store, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    if NO_RIGHTS not in store.accounts:
        pytest.skip("this server gives every account all rights")
    use(monkeypatch, store.environment(FILES_ONLY))
    assert read_table(store.address("visits.csv")).height == PEOPLE * 50
    assert "the store refuses access" in refused("growing").what
    use(monkeypatch, store.environment(NO_RIGHTS))
    assert "the store refuses access" in refused("visits.csv").what


def test_no_key_at_all(store: Store, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    if store.scheme != "s3":
        pytest.skip("the package would look for a key on other machines")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    assert "the store refuses access" in refused("visits.csv").what


def test_a_server_that_is_gone(relay: Relay, refused: Refused) -> None:
    relay.close()
    assert "the store gives nothing" in refused("visits.csv").what


def test_a_connection_that_is_lost_in_the_middle(
    store: Store, relay: Relay, refused: Refused
) -> None:
    assert read_table(store.address("visits.csv")).height == PEOPLE * 50
    relay.limit = 100_000
    assert "the store gives nothing" in refused("visits.csv").what


def test_a_server_that_falls_silent_in_the_middle(
    relay: Relay, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings are those of the how-to. gcsfs has no limit by itself: ours is shortened."""
    once = {"read_timeout": 1, "retries": {"max_attempts": 0}}
    monkeypatch.setitem(fsspec.config.conf, "s3", {"config_kwargs": once})
    monkeypatch.setitem(fsspec.config.conf, "abfs", {"read_timeout": 1})
    monkeypatch.setattr("serigraph.tables.stores._SECONDS_OF_SILENCE", 1)
    relay.limit, relay.silent = 100_000, True
    assert "the store gives nothing" in refused("visits.csv").what
