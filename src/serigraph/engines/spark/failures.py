"""Spark's errors as Serigraph's: by class and place, without their message.

A Spark message may quote a cell, so nothing of it is passed on except paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from serigraph._version import __version__
from serigraph.errors import (
    ClusterError,
    ClusterFailed,
    ClusterUnreachable,
    ExecutorUnfit,
    JavaNotFound,
    LedgerDamaged,
    SerigraphError,
    StorageError,
    TableError,
)
from serigraph.ledger.parts import NOT_ADDED_UP, VALUE_TWICE

OTHER_VERSION = "this executor has another version of serigraph"
_NO_PACKAGE = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_UNREADABLE = re.compile(
    r"FAILED_READ_FILE|CANNOT_READ_FILE|FileNotFoundException|is not a Parquet file|"
    r"Could not read footer|PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA"
)
_FULL = re.compile(r"No space left on device|Disk quota exceeded|Read-only file system")
_LOST = re.compile(
    r"SparkContext was shut down|stopped SparkContext|ExecutorLostFailure|"
    r"Master removed our application|Connection refused|All masters are unresponsive"
)
_PATH = re.compile(r"(?:[Ff]ile|path)[^\w/]{1,3}((?:[a-z0-9]+:)?/[^\s,;'\"]+)")


@contextmanager
def cluster_errors(
    doing: str, *, at_start: bool = False, unreadable: type[SerigraphError] = TableError
) -> Iterator[None]:
    """Turn any error Spark raises inside into one of ours; ``doing`` says what was being done.

    ``unreadable`` is the error for a file that cannot be read.
    """
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except SerigraphError:
        raise
    except (Py4JError, PySparkException, ConnectionError, Py4JNetworkError) as error:
        raise _translated(error, doing, at_start, unreadable) from error


def _translated(  # a list of cases
    error: Exception, doing: str, at_start: bool, unreadable: type[SerigraphError]
) -> SerigraphError:
    text = str(error)
    where = f"while {doing}"
    if "JAVA_GATEWAY_EXITED" in text:
        return JavaNotFound(
            "Java ended before Spark could start",
            where=where,
            remedy="check that JAVA_HOME, or java on the path, is a working Java of version 17 or "
            "newer, and that the driver's memory fits the machine",
        )
    lacking = _NO_PACKAGE.search(text)
    if lacking:
        return ExecutorUnfit(
            f"an executor does not have the package {lacking[1]}",
            where=where,
            remedy="install serigraph for the Python that executors use (PYSPARK_PYTHON), or send "
            "an environment along with spark-submit --archives",
        )
    if OTHER_VERSION in text:
        return ExecutorUnfit(
            "an executor has another version of serigraph",
            where=where,
            remedy=f"install serigraph {__version__} on every machine of the cluster",
        )
    if VALUE_TWICE in text:
        return LedgerDamaged(VALUE_TWICE, where="ledger", remedy=NOT_ADDED_UP)
    if "PYTHON_VERSION_MISMATCH" in text or "Cannot run program" in text:
        return ExecutorUnfit(
            "an executor does not have the same Python as the driver",
            where=where,
            remedy="set PYSPARK_PYTHON to a Python of the same version that is on every machine",
        )
    if _FULL.search(text):
        return StorageError(
            "a disk of the cluster is full or cannot be written",
            where=where,
            remedy="make room on the shared folder and in Spark's local folders, and run it again",
        )
    if _UNREADABLE.search(text):
        path = _PATH.search(text)
        return unreadable(
            "a file cannot be read",
            where=path[1] if path else where,
            remedy="check that driver and executors can read the path, and that the file is whole",
        )
    if "PARQUET_TYPE" in text:
        return TableError(
            "the file has a column of a type that Spark does not read, such as times in "
            "nanoseconds",
            where=where,
            remedy="write times in microseconds, or that column as text",
        )
    if at_start or _LOST.search(text) or isinstance(error, ConnectionError):
        kind: type[ClusterError] = ClusterUnreachable if at_start else ClusterFailed
        return kind(
            "Spark could not be started" if at_start else "the cluster was lost",
            where=where,
            remedy="check the logs of the master and its workers, and run it again",
        )
    return ClusterFailed(
        f"a task failed too often ({_reason(error)})",
        where=where,
        remedy="check the executors' logs; SERIGRAPH_TRACEBACK=1 in the environment shows all of "
        "it, which may include data",
    )


def _reason(error: Exception) -> str:
    """The class of the innermost exception; never its message."""
    kinds = re.findall(r"^(?:Caused by: )?([\w.]*(?:Error|Exception))\b", str(error), re.MULTILINE)
    return kinds[-1].rsplit(".", 1)[-1] if kinds else type(error).__name__
