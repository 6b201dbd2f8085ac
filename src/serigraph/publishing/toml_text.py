"""Texts in a policy file."""

from __future__ import annotations

import json
import re


def quoted(text: str) -> str:
    """The text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def key(name: str) -> str:
    """The name as a TOML key, quoted if it must be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def one_line(text: str) -> str:
    """The text as a part of a comment."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
