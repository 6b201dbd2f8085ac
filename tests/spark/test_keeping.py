"""Frames are let go at the end, and a cluster that is gone by then does not matter."""

from __future__ import annotations

import subprocess
import sys

LOST_AT_THE_END = """
from serigraph.engines.spark.keeping import PersistedFrames
from serigraph.engines.spark.session import spark_session
with spark_session("local[1]") as session, PersistedFrames() as kept:
    kept.keep(session.range(3))
    java = session.sparkContext._gateway.proc
    java.kill()
    java.wait()
print("done")
"""


def test_spark_that_is_lost_after_the_work_is_no_error() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST_AT_THE_END], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
