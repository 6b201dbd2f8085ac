"""What the fields of a form hold, as text; anything may have been sent."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from serigraph.errors import InputRefused

if TYPE_CHECKING:
    from starlette.requests import Request

_MOST_FIELDS = 20_000


class Form:
    """The fields of one form; a field that was not sent is empty."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    @staticmethod
    async def of(request: Request) -> Form:
        """Read the body; ``InputRefused`` if it is no form."""
        try:
            body = (await request.body()).decode()
            pairs = parse_qsl(
                body, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
            )
        except ValueError:
            raise InputRefused("this is not a form", remedy="reload the page") from None
        return Form([(name, value.replace("\r\n", "\n")) for name, value in pairs])

    def text(self, name: str) -> str:
        return next((value for key, value in self._pairs if key == name), "")

    def texts(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name and value]

    def beginning(self, start: str) -> dict[str, str]:
        """The fields whose names begin so, by the rest of their names."""
        return {key[len(start) :]: value for key, value in self._pairs if key.startswith(start)}

    def has(self, name: str) -> bool:
        return bool(self.text(name))

    def whole(self, name: str, otherwise: int, least: int, most: int) -> int:
        """A whole number; ``InputRefused`` if it is none, or out of range."""
        given = self.text(name).strip() or str(otherwise)
        if not given.isascii() or not given.isdigit() or not least <= int(given[:12]) <= most:
            raise InputRefused(
                f"{name}: a whole number from {least} to {most} is expected",
                remedy="correct the field",
            )
        return int(given)

    def share(self, name: str) -> Fraction | None:
        """A number of percent from 0 to 100 as a share; None if the field is empty."""
        given = self.text(name).strip()
        if not given:
            return None
        try:
            share = Fraction(given[:20]) / 100
        except (ValueError, ZeroDivisionError):
            share = Fraction(-1)
        if not 0 <= share <= 1:
            raise InputRefused(
                f"{name}: a number from 0 to 100 is expected", remedy="correct the field"
            )
        return share
