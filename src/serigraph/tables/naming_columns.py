"""Columns that identify people, by their names and by what their cells look like."""

from __future__ import annotations

import polars as pl

from serigraph.tables.column_guesses import ColumnGuess
from serigraph.tables.look_alikes import FEWEST, is_mostly_unique
from serigraph.tables.vocabulary import (
    CONTACT,
    DIGIT_CODE,
    FREE_TEXT,
    NUMBER_OF_PERSON,
    QUASI_IDENTIFIER,
    is_called_by_name,
    says,
)

FEW = 20  # with this many people or fewer, distinct cells mean nothing
NEARLY_ALL = 0.8  # of what has an order, and is published in ranges
_ANSWERS = 3  # values of a column that asks whether somebody has an e-mail address
_REPEATED = 5  # times on average, a description is one of a list
_LONG = 40  # characters
_EMAIL = r"^[^@\s]+@[^@\s]+\.\w+$"
_PHONE = r"^[+(]?\d[\d\s()/.-]*\d$"
_DIGITS_OF_PHONES = (8, 15)


def why_it_names_people(name: str, cells: pl.Series, guess: ColumnGuess) -> str:
    """Why a column must not be published, with one cell (as text) for each person; empty if none.

    In a small table dates, quantities and what is usually known of people may all differ by chance;
    whole numbers and texts that do are taken for ids.
    """
    known = cells.drop_nulls()
    distinct = known.n_unique()
    if distinct > _ANSWERS or len(known) <= FEW:
        if says(name, NUMBER_OF_PERSON):
            return "it seems to hold personal numbers"
        if says(name, CONTACT) or is_called_by_name(name):
            return "it seems to identify or locate a person directly"
    if _mostly(known, _EMAIL):
        return "it holds e-mail addresses"
    is_text = guess.kind == "categorical" and not guess.is_digit_code
    if is_text and not says(name, DIGIT_CODE) and _are_phone_numbers(known):
        return "it holds phone numbers"
    is_called_text = says(name, FREE_TEXT) and distinct * _REPEATED > len(known)
    if is_text and distinct > FEW and (is_called_text or _mean_length(known) > _LONG):
        return "it is free text"
    if _is_nearly_unique(name, known, guess):
        everybody = "everybody" if distinct == len(cells) else "most people"
        coarser = "; a coarser column, such as the year, may do" * (guess.kind == "date")
        return f"it is different for {everybody}{coarser}"
    return ""


def _is_nearly_unique(name: str, known: pl.Series, guess: ColumnGuess) -> bool:
    people = len(known)
    if people >= FEWEST:
        unique = int(known.is_unique().sum())
        if guess.kind == "categorical" and not guess.is_digit_code:
            return is_mostly_unique(unique, people)
        return unique > NEARLY_ALL * people
    has_order = guess.kind == "date" or (
        guess.kind == "numeric" and bool(known.str.contains(r"[.,eE]").any())
    )
    may_be_id = not has_order and not says(name, QUASI_IDENTIFIER)
    return may_be_id and people > FEW and known.n_unique() == people


def _are_phone_numbers(cells: pl.Series) -> bool:
    digits = cells.str.count_matches(r"\d")
    is_written_so = cells.str.contains(r"[+\s()/.-]") & cells.str.contains(_PHONE)
    share = (is_written_so & digits.is_between(*_DIGITS_OF_PHONES)).mean()
    return isinstance(share, float) and share > 1 / 2


def _mostly(cells: pl.Series, pattern: str) -> bool:
    share = cells.str.contains(pattern).mean()
    return isinstance(share, float) and share > 1 / 2


def _mean_length(cells: pl.Series) -> float:
    length = cells.str.len_chars().mean()
    return length if isinstance(length, float) else 0.0
