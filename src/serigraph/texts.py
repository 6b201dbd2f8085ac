"""Texts in one Unicode form, and paths that every library can open."""

from __future__ import annotations

import os
import re
from functools import lru_cache

import polars as pl

from serigraph.errors import InputRefused


def is_text(name: str) -> bool:
    """Whether a name can be written in UTF-8, without null characters.

    >>> is_text("clinic"), is_text("nul\\0"), is_text("latin \\udce9")
    (True, False, False)
    """
    return "\0" not in name and not any("\ud800" <= letter <= "\udfff" for letter in name)


def check_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path that is not text, such as one in the encoding of an old system."""
    if not is_text(os.fspath(path)):
        raise InputRefused(
            "the path is not UTF-8, or contains a null character",
            remedy="rename the file or its folder",
        )


_AROUND = r"^[\s\p{Cf}]+|[\s\p{Cf}]+$"  # blanks and invisible marks


def composed(texts: pl.Series) -> pl.Series:
    """Texts in one Unicode form (NFC), without blanks and invisible marks around them.

    >>> composed(pl.Series([" Ren\\u0065\\u0301 ", "\\ufeffP01", None])).to_list()
    ['René', 'P01', None]
    """
    plain = texts.str.strip_chars()
    is_ascii = bool((plain.str.len_bytes() == plain.str.len_chars()).all())
    return plain if is_ascii else plain.str.replace_all(_AROUND, "").str.normalize("NFC")


@lru_cache(maxsize=10_000)  # every name of a policy is asked for several times
def in_one_form(text: str) -> str:
    """One text in that form."""
    return str(composed(pl.Series([text]))[0])


_QUALIFIED = re.compile(r"((?:[^\\:]|\\.)+): (.*)", re.DOTALL)


def qualifier(column: str) -> str:
    """What stands before every value of a column, where a policy has several sensitive ones.

    No qualifier begins with another one, and no Unicode form joins it to the value.
    """
    return column.replace("\\", "\\\\").replace(":", "\\:") + ": "


def qualified(column: str, value: str) -> str:
    """A value, named with its column.

    >>> qualified("drug", "AZT"), qualified("fhir:code", "a: b")
    ('drug: AZT', 'fhir\\\\:code: a: b')
    """
    return qualifier(column) + value


def unqualified(name: str) -> tuple[str, str]:
    """The column and the value of a qualified name; no column if it is that of something else.

    >>> unqualified("drug: AZT"), unqualified(qualified("a: ", "b: c")), unqualified("any STD")
    (('drug', 'AZT'), ('a: ', 'b: c'), ('', 'any STD'))
    """
    found = _QUALIFIED.fullmatch(name)
    return (re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL), found[2]) if found else ("", name)
