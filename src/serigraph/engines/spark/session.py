"""The Spark session of an engine: the active one, or one started for it."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from serigraph._version import __version__
from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.java import java_home
from serigraph.errors import ClusterUnreachable, ExecutorUnfit, InputRefused
from serigraph.runtime.cache_folder import cache_folder
from serigraph.tables.extras import optional_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THIS_MACHINE = "local[*]"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set if spark-submit started this process
_PORT = 7077
_CONNECTING = 5.0  # seconds for a master to accept a connection
_GIB = 2**30
_checked: WeakSet[Any] = WeakSet()  # contexts whose executors were asked


@contextmanager
def spark_session(
    master: str = "",
    *,
    settings: Mapping[str, str] | None = None,
    has_web_page: bool = False,
    patience: float = 90.0,
) -> Iterator[SparkSession]:
    """A session whose executors have this version of serigraph.

    An active session is used as it is, and left open; so is one prepared by spark-submit. Otherwise
    one is started at ``master`` (if empty, this machine) and stopped at the end; ``settings`` are
    Spark's own, and override ours. The executors have ``patience`` seconds to answer. Raises
    `ClusterError`.
    """
    spark = optional_package("pyspark.sql", extra="spark", purpose="the Spark engine")
    active = _active(spark.SparkSession)
    if active is not None:
        check_executors(active, patience)
        yield active
        return
    started = _started(master, dict(settings or {}), has_web_page)
    try:
        check_executors(started, patience)
        yield started
    finally:
        with suppress(Exception):  # the work is done
            started.stop()


def _active(sessions: type[SparkSession]) -> SparkSession | None:
    """The session of this thread, or one that another thread of the process started."""
    from pyspark import SparkContext

    active = sessions.getActiveSession()
    if active is None and SparkContext._active_spark_context is not None:
        return sessions.builder.getOrCreate()
    return active


def check_executors(session: SparkSession, patience: float) -> None:
    """Ask the executors for their version of serigraph, once per session.

    Those that join later are checked by `serigraph.engines.spark.versions.of_this_version`.
    """
    context = session_context(session)
    if context in _checked:
        return
    for host, version in _versions(context, patience):
        if version != __version__:
            raise ExecutorUnfit(
                f"an executor has serigraph {version}, this is {__version__}"
                if version
                else "an executor does not have the package serigraph",
                where=f"host {host}",
                remedy=f"install serigraph {__version__} for the Python that executors use there "
                "(PYSPARK_PYTHON), or send an environment along with spark-submit --archives",
            )
    _checked.add(context)


def session_context(session: SparkSession) -> Any:
    """The context of a session; a Spark Connect session has none, and is refused."""
    if "connect" in type(session).__module__:
        raise InputRefused(
            "a session of Spark Connect has no executors that can be asked",
            remedy="publish inside the cluster, with spark-submit or a classic session",
        )
    return session.sparkContext


def _started(master: str, settings: dict[str, str], has_web_page: bool) -> SparkSession:
    from pyspark.sql import SparkSession

    is_submitted = _SUBMITTED in os.environ
    if master:
        settings["spark.master"] = master
    elif not is_submitted:
        settings.setdefault("spark.master", THIS_MACHINE)
    _ensure_listening(settings.get("spark.master", ""))
    if not is_submitted:
        settings = _defaults(settings, has_web_page) | settings
    environment = {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)}
    if not is_submitted:
        environment["JAVA_HOME"] = str(java_home())
    builder = SparkSession.builder.appName("serigraph")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _in_environment(environment), cluster_errors("starting Spark", at_start=True):
        return builder.getOrCreate()


def _defaults(settings: Mapping[str, str], has_web_page: bool) -> dict[str, str]:
    """Settings for a session that we start."""
    cores = re.match(r"local(?:\[(\d+|\*))?", settings["spark.master"])
    shown = "WARN" if os.environ.get("SERIGRAPH_TRACEBACK") else "OFF"
    made = {
        "spark.ui.enabled": str(has_web_page).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{_driver_memory()}m",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_quiet(shown)}",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # A limit in bytes makes Spark size up the whole batch for every row: quadratic in lists.
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
        "spark.sql.session.timeZone": "UTC",
    }
    if cores is None:
        return made
    # Spark plans for a cluster; on one machine hundreds of small tasks take longer than a few.
    number = (os.cpu_count() or 1) if cores[1] == "*" else int(cores[1] or 1)
    return made | {
        "spark.driver.host": "localhost",
        "spark.sql.shuffle.partitions": str(4 * number),
    }


def _quiet(level: str) -> str:
    """Log settings from the first line on: Spark's log may quote a cell."""
    path = cache_folder() / f"log4j2-{level}.properties"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"rootLogger.level = {level}\n"
            "rootLogger.appenderRef.console.ref = console\n"
            # If this logger differs from the root, Spark sets both and logs that.
            "logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer\n"
            f"logger.gateway.level = {level}\n"
            "appender.console.type = Console\n"
            "appender.console.name = console\n"
            "appender.console.target = SYSTEM_ERR\n"
            "appender.console.layout.type = PatternLayout\n"
            "appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex\n"
        )
    return path.as_uri()


def _driver_memory() -> int:
    """MiB for the driver's JVM: an eighth of the machine, since Python does the work."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(max(memory // 8, _GIB), 8 * _GIB) // 2**20


def _ensure_listening(master: str) -> None:
    """Refuse at once a master that does not answer: Spark itself tries for a minute."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":") if ":" in address else (address, "", str(_PORT))
        if not port.isdecimal():
            raise InputRefused(
                "the address of the master does not look like spark://host:7077", where=master
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECTING).close()
        except (OSError, OverflowError):
            continue
        return
    raise ClusterUnreachable(
        "no Spark master answers",
        where=master,
        remedy="give the address that the master's log names, and check that it can be reached",
    )


@contextmanager
def _in_environment(wanted: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _versions(context: Any, patience: float) -> list[tuple[str, str]]:
    """Host and version of serigraph ("" for none) of the current executors."""

    def asked(_numbers: Iterator[int]) -> Iterator[tuple[str, str]]:
        # A nested function is pickled as code, so it runs without the package.
        import socket

        try:
            from serigraph._version import __version__ as found
        except ImportError:
            found = ""
        yield socket.gethostname(), found

    slots = max(context.defaultParallelism, 1)
    answers: list[list[tuple[str, str]]] = []
    raised: list[BaseException] = []
    group = "serigraph: versions of the executors"

    def ask() -> None:
        context.setJobGroup(group, group, interruptOnCancel=True)
        try:
            with cluster_errors("asking the executors"):
                answers.append(
                    context.parallelize(range(slots), slots).mapPartitions(asked).collect()
                )
        except BaseException as error:  # re-raised in the caller's thread
            raised.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(patience)
    if asking.is_alive():
        context.cancelJobGroup(group)
        raise ClusterUnreachable(
            f"no executor answered within {patience:.0f} seconds",
            where=str(context.master),
            remedy="check on the master's page whether workers are alive and have free cores and "
            "memory",
        )
    if raised:
        raise raised[0]
    return answers[0]
