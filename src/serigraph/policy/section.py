"""The base of all sections of a policy: frozen, closed, and told of every problem at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError
from pydantic import model_validator as model_check
from pydantic_core import InitErrorDetails, PydanticCustomError

Place = tuple[str, ...]  # the keys that lead to a value, outermost first


class Section(BaseModel):
    """A table of the policy file. Unknown keys are refused; nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
        """Places of keys that do not fit each other, each with what is wrong.

        Sees the keys as they were written, before any of them is checked, so that contradictions
        are reported together with keys that are wrong by themselves.
        """
        return ()

    @model_check(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, given: Any, check: ModelWrapValidatorHandler[Any]) -> Any:
        found: list[InitErrorDetails] = []
        if isinstance(given, Mapping):
            found = [
                _problem("contradiction", place, message)
                for place, message in cls.contradictions(given)
            ]
        try:
            made = check(given)
        except ValidationError as error:
            found = [
                *(_problem(each["type"], each["loc"], each["msg"]) for each in error.errors()),
                *found,
            ]
        if found:
            raise ValidationError.from_exception_data(cls.__name__, found)
        return made


def _problem(kind: str, place: tuple[int | str, ...], message: str) -> InitErrorDetails:
    # The message is already complete; braces in it must not be read as a template.
    wrong = PydanticCustomError(kind, "{message}", {"message": message})
    return InitErrorDetails(type=wrong, loc=place, input=None)
