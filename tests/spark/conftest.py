"""The Spark sessions that the tests share.

One process has at most one session, so that everything that needs one takes the fixture ``spark``.
It runs a test on local[2] and, as one of the thorough ones, on a cluster; a test that needs one of
them only says so with ``@pytest.mark.parametrize("spark", ["local[2]"], indirect=True)``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from serigraph.engines.spark.session import spark_session
from spark.standalone import Cluster, standalone_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Every Java that a test starts is young: it would compile most of what it runs for nothing.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
CLUSTER = "cluster"
SMALL = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "700m",
    # Of two workers with two cores each, so that a second application finds room beside this one.
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master with two workers of two cores, on loopback."""
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(
    scope="session", params=["local[2]", pytest.param(CLUSTER, marks=pytest.mark.thorough)]
)
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session on this machine, then one on the cluster."""
    is_local = request.param != CLUSTER
    master = request.param if is_local else request.getfixturevalue("cluster").url
    with spark_session(master, settings=SMALL) as session:
        yield session
