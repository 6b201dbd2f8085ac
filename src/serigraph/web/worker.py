"""The process that does long work: reads tasks from standard input, and tells on standard output
how far it is and what came out.

It lives no longer than the server that started it: when standard input ends, so does the process,
in the middle of anything, as if it had been killed. A series survives that.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

from serigraph.errors import SerigraphError
from serigraph.runtime.unforeseen import as_known


def main() -> None:
    """Work until there is nobody left to work for, or an interrupt says stop."""
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # what a library prints is for nobody
    os.dup2(nowhere, 2)
    asked: SimpleQueue[str] = SimpleQueue()
    Thread(target=_listen, args=(asked,), daemon=True).start()
    from serigraph.web import tasks

    tasks.get_ready()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            request = json.loads(asked.get())
            tell(told, _done(request, told))


def tell(told: IO[str], event: dict[str, Any]) -> None:
    told.write(json.dumps(event) + "\n")
    told.flush()


def _listen(asked: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        asked.put(line)
    os._exit(1)


def _done(request: dict[str, Any], told: IO[str]) -> dict[str, Any]:
    from serigraph.web.tasks import TASKS

    def progress(stage: str, done: int = 0, total: int = 1, /) -> None:
        tell(told, {"stage": stage, "share": done / max(total, 1)})

    try:
        return {"result": TASKS[request["task"]](progress, **request["arguments"])}
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return {"error": told_of(as_known(error, is_memory_limited=False))}


def told_of(error: SerigraphError) -> dict[str, Any]:
    """An error as JSON types."""
    return {
        "kind": type(error).__name__,
        "what": error.what,
        "where": error.where,
        "remedy": error.remedy,
        "problems": list(error.problems),
    }


if __name__ == "__main__":
    main()
