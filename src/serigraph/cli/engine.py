"""Where a command does its work: options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from serigraph.errors import InputRefused

if TYPE_CHECKING:
    from serigraph.engines import Engine


class EngineName(StrEnum):
    """The engines there are."""

    LOCAL = "local"
    SPARK = "spark"


EngineOption = Annotated[
    EngineName, typer.Option("--engine", help="Where to work: on this machine, or on Spark.")
]
MasterOption = Annotated[
    str,
    typer.Option(
        help="With --engine spark: the master, such as spark://host:7077 [default: this machine]",
        show_default=False,
    ),
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--spark-setting",
        metavar="KEY=VALUE",
        help="With --engine spark: a Spark setting; repeatable.",
    ),
]


def chosen(engine: EngineName, master: str, settings: Sequence[str] | None) -> Engine:
    """The engine that the options say, or ``InputRefused`` where they do not fit each other."""
    if engine == EngineName.LOCAL and (master or settings):
        raise InputRefused(
            "--master and --spark-setting are for the Spark engine", remedy="add --engine spark"
        )
    pairs = [setting.partition("=") for setting in settings or ()]
    if not all(key and equals for key, equals, _ in pairs):
        raise InputRefused(
            "a setting of Spark is not like KEY=VALUE",
            remedy="write for example --spark-setting spark.executor.memory=4g",
        )
    from serigraph.engines import Local, Spark

    if engine == EngineName.LOCAL:
        return Local()
    return Spark(master=master, settings={key: value for key, _, value in pairs})
