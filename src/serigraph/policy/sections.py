"""The sections of a policy file, as they are written: frozen, closed, and every problem at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    StringConstraints,
    ValidationError,
)
from pydantic import model_validator as model_check
from pydantic_core import InitErrorDetails, PydanticCustomError

from serigraph.policy.classes import ValueKind
from serigraph.privacy.thresholds import parse_threshold
from serigraph.texts import in_one_form, is_text

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


Text = Annotated[str, StringConstraints(min_length=1)]
LONGEST_NAME = 200  # characters
MOST_PEOPLE = 2**31 - 1  # in a group, and in a release
MOST_KNOWN = 10  # members of a group that an adversary may know
MOST_APPROVALS = 100
Fingerprint = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


def _column(name: str) -> str:
    if why := why_unusable(name):
        raise ValueError(f"{why}: rename the column")
    return name


def why_unusable(name: str) -> str:
    """Why a column cannot be used under its name; empty if it can.

    >>> why_unusable("^age$"), why_unusable("age (years)")
    ('a name like ^...$ or * stands for several columns', '')
    """
    if name == "*" or (name.startswith("^") and name.endswith("$")):
        return "a name like ^...$ or * stands for several columns"
    if len(name) > LONGEST_NAME:
        return f"a name has at most {LONGEST_NAME} characters"
    if not is_text(name):
        return "a name cannot contain null characters or invalid text"
    return "" if name else "a name cannot be empty"


ColumnName = Annotated[str, AfterValidator(_column)]


def _value(text: str) -> str:
    if not (value := in_one_form(text)):
        raise ValueError("a value cannot be empty")
    return value


Value = Annotated[str, AfterValidator(_value)]


def _ascii(character: str) -> str:
    if not character.isascii():
        raise ValueError("must be an ASCII character, such as ; or |")
    return character


OneCharacter = Annotated[str, StringConstraints(min_length=1, max_length=1), AfterValidator(_ascii)]


def _threshold(value: object) -> Fraction:
    try:
        return parse_threshold(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise ValueError(str(error)) from None


def _diversity(value: object) -> Fraction:
    return _threshold(f"l={value}" if isinstance(value, str) else value)


def _share(value: object) -> Fraction:
    if not isinstance(value, str):
        raise ValueError('a share is exact text, such as "10%" or "1/10"')
    return _threshold(value)


Threshold = Annotated[Fraction, PlainValidator(_threshold)]


class Person(Section):
    """Who a row is about."""

    id: ColumnName
    type: Literal["detected", "integer", "text"] = "detected"


class QuasiIdentifier(Section):
    """A column that an adversary may know."""

    kind: Literal["numeric", "date", "categorical"]
    taxonomy: Text | None = None
    new_values: Literal["error", "branch"] = "error"
    unique_values: Literal["error", "publish"] = "error"  # if most people have a unique value

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
        if "taxonomy" in given and given.get("kind") in ("numeric", "date"):
            yield ("taxonomy",), "only a categorical column can have a taxonomy"
        if "new_values" in given and "taxonomy" not in given:
            yield ("new_values",), "only a column with a taxonomy has a rule for new values"


class Sensitive(Section):
    """The column whose values are published, and some or all of them protected."""

    column: ColumnName
    form: Literal["single", "rows", "list", "delimited"] = "single"
    delimiter: Text | None = None
    missing: Literal["no value", "error"] = "no value"
    kind: ValueKind = "text"

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
        return _delimiters(given)


def _delimiters(given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """What is wrong with the delimiter of a sensitive column."""
    if "delimiter" in given and given.get("form") != "delimited":
        yield ("delimiter",), 'a delimiter needs form = "delimited"'
    if "delimiter" not in given and given.get("form") == "delimited":
        yield ("form",), 'form = "delimited" needs the key delimiter, such as delimiter = ";"'


Persistence = Literal["transient", "permanent", "any"]
"""What a policy assumes of a value over time: releases are independent; who holds it keeps it for
life; or nothing at all."""

UNSTATED: Persistence = "transient"  # where a policy says nothing, as in version 0.1.0
DEFAULT = "default"  # the persistence of values without one of their own


def persistence_of(name: str, stated: Mapping[str, Persistence]) -> Persistence:
    """What a policy that states this assumes of a protected value or class over time.

    >>> persistence_of("HIV", {"default": "any", "flu": "transient"}), persistence_of("HIV", {})
    ('any', 'transient')
    """
    return stated.get(name, stated.get(DEFAULT, UNSTATED))


class Protected(Section):
    """Which values the guarantee covers: one of ``values``, ``file``, ``except`` and ``rarest``."""

    values: Literal["all"] | tuple[Value, ...] = "all"
    file: Text | None = None
    excepted: tuple[Value, ...] = Field(default=(), alias="except")
    rarest: Annotated[Fraction, PlainValidator(_share)] | None = None
    classes: dict[Value, Annotated[tuple[Value, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    closeness: Text | None = None  # the width of intervals of numbers or dates
    thresholds: dict[Value, Threshold] = Field(default_factory=dict)
    persistence: dict[Value, Persistence] = Field(default_factory=dict)
    unheld: Literal["error", "allow"] = "error"  # values that nobody in the first table holds

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
        ways = [way for way in ("values", "file", "except", "rarest") if way in given]
        if ways == ["values", "except"] and given["values"] == "all":
            ways = ["except"]
        for way in ways[1:]:
            yield (way,), f"{ways[0]} already says what is protected; keep one of the two"
        classes = _table(given, "classes")
        if given.get("values") == [] and not classes and "closeness" not in given:
            yield ("values",), "nothing is protected: name a value, or a class of values"
        listed = _names(given, "values")
        excepted = _names(given, "except")
        for name in classes:
            if name in listed or name in excepted:
                yield (
                    ("classes", name),
                    f"the class {name!r} has the name of a value; rename the class",
                )
        yield from _mixed_classes(given, ways)
        for key, what in (("thresholds", "a threshold"), ("persistence", "a persistence")):
            for name in _table(given, key):
                if name in classes or (key, name) == ("persistence", DEFAULT):
                    continue
                if name in excepted or (ways == ["values"] and listed and name not in listed):
                    yield (
                        (key, name),
                        f"{name!r} has {what} but is neither a protected value nor a class",
                    )


def _mixed_classes(given: Mapping[str, Any], ways: Sequence[str]) -> Iterator[tuple[Place, str]]:
    """Classes that do not persist as their values do, or as classes with the same values do."""
    listed = _texts(given.get("values"))
    stated = {in_one_form(name): kind for name, kind in _table(given, "persistence").items()}
    default = stated.get(DEFAULT, UNSTATED)

    def persists(name: str) -> bool:
        return bool(stated.get(in_one_form(name), default) != "transient")

    classes = {name: _texts(values) for name, values in _table(given, "classes").items()}
    for name, values in classes.items():
        if not persists(name):
            if any(map(persists, values)):
                yield (
                    ("classes", name),
                    f"the class {name!r} holds values that persist, so it persists too: give "
                    "it a persistence of its own",
                )
        elif any(not persists(each) and _is_protected(each, ways, listed) for each in values):
            yield (
                ("classes", name),
                f"the class {name!r} persists, and is limited in each cohort, which would tell in "
                "which cohort its transient values are: let these persist too, or the class "
                "be transient",
            )
        elif shared := [
            each for each, its in classes.items() if not persists(each) and its & values
        ]:
            yield (
                ("classes", name),
                f"the class {name!r} persists and shares values with the class {shared[0]!r}, "
                "which is transient: let both persist, or neither",
            )


def _texts(given: object) -> frozenset[str]:
    """The texts of a list, in one form; what else is in it is refused elsewhere."""
    listed = given if isinstance(given, list | tuple) else ()
    return frozenset(in_one_form(each) for each in listed if isinstance(each, str))


class SensitiveColumn(Section):
    """One of several sensitive columns, with what is protected in it."""

    kind: ValueKind = "text"
    form: Literal["single", "rows", "list", "delimited"] = "single"
    delimiter: Text | None = None
    missing: Literal["no value", "error"] = "no value"
    protected: Protected = Field(default_factory=lambda: Protected())

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
        return _delimiters(given)


class ClassAcross(Section):
    """A class of values of several columns: to hold one of them is to hold the class."""

    values: Annotated[
        dict[ColumnName, Annotated[tuple[Value, ...], Field(min_length=1)]], Field(min_length=1)
    ]
    threshold: Threshold | None = None


def _is_protected(name: str, ways: Sequence[str], listed: Collection[str]) -> bool:
    """Whether a value may be protected apart from the classes that it is in."""
    return name in listed if ways == ["values"] and listed else True


class Guarantee(Section):
    """The promise: how probable a link may become, and to whom."""

    threshold: Threshold | None = None
    diversity: Annotated[Fraction, PlainValidator(_diversity)] | None = Field(
        default=None, alias="l"
    )
    adversary: Literal["presence unknown", "presence known"] = "presence unknown"
    minimum_group_size: Annotated[int, Field(gt=0, le=MOST_PEOPLE)] = 1
    known_members: Annotated[int, Field(ge=0, le=MOST_KNOWN)] = 0  # of every group
    cohort_size: Annotated[int, Field(gt=1, le=MOST_PEOPLE)] | None = None
    departures: Literal["unrelated", "refuse"] = "unrelated"  # to the values that people hold
    cuts: Literal["counts", "blind"] = "counts"  # what may decide where groups end

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
        if "threshold" in given and "l" in given:
            yield ("l",), "threshold and l mean the same; keep one of the two"
        if "threshold" not in given and "l" not in given:
            yield ("threshold",), 'the threshold is missing: write threshold = "1/2", or l = 2'

    @property
    def is_blind(self) -> bool:
        """Whether groups must never end where they do because of who holds a value."""
        return self.cuts == "blind"

    @property
    def largest_probability(self) -> Fraction:
        """The threshold, however it was written."""
        threshold = self.threshold if self.threshold is not None else self.diversity
        if threshold is None:
            raise ValueError("a guarantee needs a threshold")
        return threshold


class Output(Section):
    """What a release looks like."""

    form: Literal["generalised", "bucketised"] = "generalised"
    groups: Literal["interleaved", "regions"] = "interleaved"  # of a bucketised release
    method: Literal["top-down", "bottom-up"] = "top-down"
    files: Annotated[tuple[Literal["parquet", "csv"], ...], Field(min_length=1)] = (
        "parquet",
        "csv",
    )
    formulas: Literal["quote", "refuse", "keep"] = "quote"  # what spreadsheets would run, in CSV
    apart: bool = False  # bucketised values column by column, not record by record

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
        if given.get("groups") == "interleaved" and given.get("form") != "bucketised":
            yield (
                ("groups",),
                'generalised groups are regions: write groups = "regions", or form = "bucketised"',
            )
        if given.get("apart") is True and given.get("form") != "bucketised":
            yield ("apart",), 'a generalised row shows a whole record: write form = "bucketised"'


class Suppression(Section):
    """How far below its limit suppression brings a value."""

    clearance: Annotated[Fraction, PlainValidator(_share)] = Fraction(1, 4)


class Missing(Section):
    """What an empty cell of a quasi-identifier means."""

    quasi_identifiers: Literal["value", "error"] = "value"


class Reading(Section):
    """How files and cells are read; what is not given is detected."""

    delimiter: OneCharacter | None = None
    quote: OneCharacter | None = None
    encoding: Text | None = None
    decimal: Literal[".", ","] | None = None
    null_values: tuple[Annotated[str, AfterValidator(in_one_form)], ...] = ()
    date_format: Text | None = None
    query: Text | None = None
    registry_query: Text | None = None
    value_labels: bool = False
    look_alikes: Literal["refuse", "distinct"] = "refuse"  # "7" and "007", "5" and "5.00"

    # Whether a source without queries is refused, or read without one.
    must_query: ClassVar[bool] = False

    def asking(self, query: str) -> Reading:
        """The same with the query of an option, if there is one, in the place of the policy's."""
        return _Asking.model_validate({**self.model_dump(), "query": query}) if query else self

    def for_registry(self) -> Reading:
        """The same, with the query that fetches the registry."""
        return self.model_copy(update={"query": self.registry_query})


class _Asking(Reading):
    must_query: ClassVar[bool] = True


class Attacks(Section):
    """How far attacks on a release may come before it is refused."""

    highest_lift: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None


class Signing(Section):
    """How many people have to approve of a draft before it is published.

    Not part of the promise, so it may change from release to release; certificates say it.
    """

    approvals: Annotated[int, Field(ge=0, le=MOST_APPROVALS)] = 0
    keys: tuple[Fingerprint, ...] = ()  # that may approve; empty: any

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
        asked, keys = given.get("approvals", 0), given.get("keys", ())
        known = set(map(str, keys)) if isinstance(keys, list | tuple) else set()
        if known and isinstance(asked, int) and len(known) < asked:
            yield (
                ("approvals",),
                f"{asked} approvals need as many keys, and keys has {len(known)}",
            )


class Publisher(Section):
    """Who publishes, for whom, and who answers for it: shown in reports and certificates.

    Not part of the promise, so it may change from release to release.
    """

    name: Text | None = None
    contact: Text | None = None
    recipients: Text | None = None
    roles: dict[Text, Text] = Field(default_factory=dict)
    re_evaluation: Text | None = None
    incidents: Text | None = None


def _table(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = given.get(key)
    return found if isinstance(found, Mapping) else {}


def _names(given: Mapping[str, Any], key: str) -> frozenset[str]:
    found = given.get(key)
    return frozenset(map(str, found)) if isinstance(found, list | tuple) else frozenset()
