"""Processes whose operations on files are counted, written down, and made to fail by ``shim.c``.

The shim is compiled by the C compiler of the package ``ziglang``, once for each of its versions.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Self

SOURCE = Path(__file__).with_name("shim.c")
PATIENCE = 600  # seconds until a command counts as hung: far more than one takes on a busy machine


class Fault(IntEnum):
    """What happens at an operation; the order is that of ``shim.c``."""

    NONE = 0
    INPUT_OUTPUT = 1  # it fails with EIO
    FULL_DISK = 2  # it and all later ones that need space fail with ENOSPC
    NO_MEMORY = 3  # the next allocation fails
    KILLED = 4  # SIGKILL


@dataclass(frozen=True)
class Ended:
    """How a command ended in a process of its own."""

    exit_code: int  # negative: the signal that ended it
    said: str  # on standard error
    is_met: bool  # whether it came to the operation that was to fail
    operations: int  # on files below the folder; 0 where the process was killed
    is_hung: bool = False


def compiled_shim() -> Path:
    """The shared library, compiled if this version of it was not yet."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "serigraph-faults"
    library = cache / f"shim-{digest}.so"
    if not library.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            unfinished = Path(folder) / library.name
            options = ["-shared", "-fPIC", "-O1", "-o", unfinished, SOURCE]
            subprocess.run(
                [sys.executable, "-m", "ziglang", "cc", *map(str, options)],
                check=True,
                env=os.environ | {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder},
            )
            os.replace(unfinished, library)
    return library


class Commands:
    """A process that has the shim and the package loaded, and forks for each command."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "faults.server", str(patience)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | {
                "LD_PRELOAD": str(compiled_shim()),
                "PYTHONPATH": os.pathsep.join(
                    [str(SOURCE.parents[1]), os.environ.get("PYTHONPATH", "")]
                ),
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(BrokenPipeError):
            self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def run(
        self,
        *arguments: object,
        watched: Path,
        fault: Fault = Fault.NONE,
        at: int = -1,
        log: Path | None = None,
    ) -> Ended:
        """``serigraph ARGUMENTS``, with a fault at an operation on files below a folder."""
        case = {
            "arguments": [str(each) for each in arguments],
            "watched": str(watched.resolve()),
            "fault": int(fault),
            "at": at,
            "log": str(log) if log else "",
        }
        print(json.dumps(case), file=self._server.stdin, flush=True)
        return Ended(**json.loads(self._server.stdout.readline()))
