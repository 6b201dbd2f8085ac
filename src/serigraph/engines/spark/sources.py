"""Reads every kind of table: Spark reads what it can, the driver reads the rest."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from serigraph.engines.choosing import is_spark_frame
from serigraph.engines.spark.failures import cluster_errors
from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables import read_table
from serigraph.tables.addresses import is_database, scheme_of
from serigraph.tables.columns import Role, canonical
from serigraph.tables.csv_files import check_header, detect_dialect, unreadable
from serigraph.tables.formats import BY_ENDING, CSV, PARQUET
from serigraph.tables.preparing import refusal_of
from serigraph.tables.queries import refuse_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BEGINNING = 1 << 16
_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"
_ENCODINGS = {"utf-8-sig": "UTF-8", "utf-8": "UTF-8", "utf8": "UTF-8", "latin-1": "ISO-8859-1"}


def table_frame(
    session: SparkSession, source: Any, reading: Reading, roles: Mapping[str, Role]
) -> DataFrame:
    """The rows and columns of ``source``, unchanged, on the cluster.

    CSV (also compressed) and Parquet files, or folders of them, are read by the executors, from any
    path that Spark knows. Anything else that ``read_table`` reads is read by the driver and sent,
    with columns that have a role in their canonical form if Spark lacks their type.
    """
    if is_spark_frame(source):
        refuse_query(reading, "a frame of Spark")
        frame: DataFrame = source
        return frame
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        name = path.rstrip("/").rsplit("/", 1)[-1].lower()
        ending = "." + name.removesuffix(".gz").rsplit(".", 1)[-1]
        found = BY_ENDING.get(ending)
        if found is CSV:
            refuse_query(reading, "a CSV file", path)
            if (lines := _csv(session, path, reading)) is not None:
                return lines
        if found is PARQUET or (found is None and _is_elsewhere_or_folder(path)):
            refuse_query(reading, "a folder or file of Parquet", path)
            return _parquet(session, path)
    table = _sendable(read_table(source, reading), reading, roles)
    with cluster_errors("sending the table to the cluster"):
        return session.createDataFrame(table.to_arrow())


def _sendable(table: pl.DataFrame, reading: Reading, roles: Mapping[str, Role]) -> pl.DataFrame:
    """The table with types that Spark has and does not alter: it lacks unsigned integers, and
    converts times to another zone and unit."""
    columns, problems = [], []
    for column in table.get_columns():
        if column.name in roles and _is_time(_inner(column.dtype)):
            is_list = column.dtype.is_nested()
            days, wrong = canonical(
                column.explode() if is_list else column, roles[column.name], reading
            )
            problems += wrong
            column = column.cast(pl.List(pl.Date)) if is_list and not wrong else days
        columns.append(column.cast(_known_to_spark(column.dtype)))
    if problems:
        raise refusal_of(problems, [])
    return pl.DataFrame(columns)


def _inner(kind: Any) -> Any:
    return kind.inner if isinstance(kind, pl.List | pl.Array) else kind


def _is_time(kind: Any) -> bool:
    return bool(kind.is_temporal() and kind != pl.Date)


def _known_to_spark(kind: Any) -> pl.DataType:
    if isinstance(kind, pl.List | pl.Array):
        return pl.List(_known_to_spark(kind.inner))
    if kind.is_unsigned_integer() and kind not in (pl.UInt64, pl.UInt128):
        return pl.Int64()
    if kind == pl.Float16:
        return pl.Float32()
    as_text = kind in (pl.UInt64, pl.UInt128, pl.Int128, pl.Categorical, pl.Enum) or _is_time(kind)
    sent: pl.DataType = pl.String() if as_text and kind != pl.Duration else kind
    return sent


def _is_elsewhere_or_folder(path: str) -> bool:
    is_elsewhere = "://" in path and not is_database(path) and scheme_of(path) != "memory"
    return is_elsewhere or os.path.isdir(path)


def _parquet(session: SparkSession, path: str) -> DataFrame:
    """A file or a folder; what folders name is text, as on one machine: 007 is not 7."""
    before = session.conf.get(_INFERENCE, "true") or "true"
    session.conf.set(_INFERENCE, "false")
    try:
        with cluster_errors("reading the table"):
            return session.read.parquet(path)
    finally:
        session.conf.set(_INFERENCE, before)


def _csv(session: SparkSession, path: str, reading: Reading) -> DataFrame | None:
    """Every cell as text, empty cells as null, ragged lines refused when they are read; None if
    Spark cannot read the file's encoding."""
    with cluster_errors("reading the table"):
        beginning = _first_bytes(session, path)
        try:
            dialect = detect_dialect(beginning, reading)
        except (UnicodeError, LookupError):
            raise TableError(
                f"the file is not written in the encoding {reading.encoding!r}",
                where=path,
                remedy="correct encoding in the section [reading] of the policy, or leave it out",
            ) from None
        except csv.Error:
            raise unreadable(path) from None
        if dialect.encoding not in _ENCODINGS:
            return None
        check_header(dialect, path)
        # A line is refused for any of its cells, not only for those that the policy names.
        return session.read.option("columnPruning", "false").csv(
            path,
            schema=", ".join(f"`{name.replace('`', '``')}` string" for name in dialect.header),
            header=True,
            sep=dialect.delimiter,
            quote=dialect.quote or "",
            escape=dialect.quote or "",
            encoding=_ENCODINGS[dialect.encoding],
            mode="FAILFAST",
            enforceSchema=True,
        )


def _first_bytes(session: SparkSession, path: str) -> bytes:
    """The first bytes of a file, or of the first file of a folder, decompressed."""
    java: Any = session.sparkContext._jvm
    settings = session.sparkContext._jsc.hadoopConfiguration()
    at = java.org.apache.hadoop.fs.Path(path)
    files = at.getFileSystem(settings)
    if not files.exists(at):
        raise TableError("there is no such file", where=path, remedy="check the path")
    if files.getFileStatus(at).isDirectory():
        found = sorted(str(each.getPath()) for each in files.listStatus(at))
        shown = [each for each in found if not each.rsplit("/", 1)[-1].startswith(("_", "."))]
        if not shown:
            raise TableError("the folder holds no file", where=path, remedy="check the path")
        at = java.org.apache.hadoop.fs.Path(shown[0])
    codec = java.org.apache.hadoop.io.compress.CompressionCodecFactory(settings).getCodec(at)
    stream = files.open(at)
    try:
        content = stream if codec is None else codec.createInputStream(stream)
        return bytes(content.readNBytes(_BEGINNING))
    finally:
        stream.close()
