"""Texts that look the same are the same text."""

from __future__ import annotations

import polars as pl

_AROUND = r"^[\s\p{Cf}]+|[\s\p{Cf}]+$"  # blanks, and marks that nobody sees


def composed(texts: pl.Series) -> pl.Series:
    """Texts in one Unicode form (NFC), without blanks and invisible marks around them.

    >>> composed(pl.Series([" Ren\\u0065\\u0301 ", "\\ufeffP01", None])).to_list()
    ['René', 'P01', None]
    """
    plain = texts.str.strip_chars()
    is_ascii = bool((plain.str.len_bytes() == plain.str.len_chars()).all())
    return plain if is_ascii else plain.str.replace_all(_AROUND, "").str.normalize("NFC")


def in_one_form(text: str) -> str:
    """One text in that form."""
    return str(composed(pl.Series([text]))[0])
