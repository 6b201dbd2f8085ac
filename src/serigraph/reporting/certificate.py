"""The certificate of a release, for machines, and its JSON schema.

Its figures are about the release as a whole: no count of a single value, and no id. Format 1
(version 0.1.0) has no worst pairs and no publisher.
"""

from __future__ import annotations

import json
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from serigraph.errors import InputRefused, StorageError
from serigraph.policy.sections import Publisher

NAME = "certificate.json"
SCHEMA = "certificate.schema.json"

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def _as_probability(text: str) -> str:
    if not 0 <= Fraction(text) <= 1:
        raise ValueError("must be a number from 0 to 1")
    return text


Exact = Annotated[
    str,
    Field(pattern="^[0-9]+(/[1-9][0-9]*)?$", description="An exact number: 7/16"),
    AfterValidator(_as_probability),
]


# Figures since version 0.2; a series has their sums over its releases.
_COUNTS = {
    "people_alone": "People who are the only member of their group.",
    "rows": "Published rows with quasi-identifiers.",
    "unique_rows": "Of these, rows whose quasi-identifiers no other row has.",
}


def _with_whole_counts(figures: dict[str, Any]) -> dict[str, Any]:
    for name in _COUNTS.keys() & figures.keys():
        if type(figures[name]) is not int or figures[name] < 0:
            raise ValueError(f"{name} must be a whole number")
    return figures


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ClosestPair(_Part):
    """The pair of a person and a value that is closest to its own threshold."""

    value: str = Field(description="Empty where an older release did not record it.")
    probability: Exact
    threshold: Exact = Field(description="Of this value: its own, or that of all.")


class Guaranteed(_Part):
    """What was found when the release was verified; `serigraph verify` computes it again."""

    largest_probability: Exact = Field(
        description="The largest probability, over all releases up to this one, of any link of a "
        "person to a protected value that this release touches. For a value that persists it is "
        "the share of published holders among people who are alike."
    )
    pairs: int = Field(ge=0, description="Pairs of a person and a value that it touches.")
    pairs_above_threshold: Literal[0] = 0
    rests_on: str = Field(
        default="",
        description="What has to be true of values, people and the adversary for this to hold.",
    )
    worst_in_release: ClosestPair | None = Field(
        default=None,
        description="Of the pairs that this release touches, the one closest to its threshold.",
    )
    worst_in_series: ClosestPair | None = Field(
        default=None,
        description="Of all pairs of the series up to this release, also of people who are not in "
        "it, the one closest to its threshold.",
    )


class Certificate(_Part):
    """The certificate of a release, or of a series up to its latest release."""

    format: Literal[1, 2] = 2
    kind: Literal["release", "series"]
    made_by: str
    release: int = Field(ge=1, description="The number of the release; of a series, its latest.")
    label: str
    published_at: str = Field(description="ISO 8601, UTC")
    follows: Digest | Literal[""] = Field(
        description="The ledger's chain digest before this release, empty for the first one; of a "
        "series, the chain digest of its latest release."
    )
    threshold: Exact
    adversary: Literal["presence unknown", "presence known"]
    known_members: int = Field(
        default=0,
        ge=0,
        description="The promise holds against an adversary who knows this many other members of "
        "every group, and that they do not hold its values.",
    )
    approvals: int = Field(
        default=0,
        ge=0,
        description="How many approvals, each with another key, had to lie beside the certificate "
        "before the release was published.",
    )
    strategy: str
    policy: dict[str, Any] = Field(description="What cannot change while the series goes on.")
    publisher: Publisher | None = Field(
        default=None, description="As the policy had it when the certificate was made."
    )
    guarantee: Guaranteed
    figures: Annotated[dict[str, Any], AfterValidator(_with_whole_counts)] = Field(
        description="Counts and figures of the release.",
        json_schema_extra={
            "properties": {
                name: {"type": "integer", "minimum": 0, "description": what}
                for name, what in _COUNTS.items()
            }
        },
    )
    files: dict[str, Digest] = Field(
        description="SHA-256 of every other file: of a release, beside the certificate; of a "
        "series, below the folder releases."
    )

    def to_text(self) -> str:
        """The certificate as it is written: indented JSON."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def read_certificate(path: Path) -> Certificate:
    """Read and check a certificate; ``InputRefused`` says where it does not fit the schema."""
    try:
        if path.exists() and not path.is_file():  # a device may have no end
            raise IsADirectoryError(0, "not a file")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _refused(path, "it is not text", []) from None
    except FileNotFoundError:
        raise InputRefused(
            "the certificate does not exist", where=str(path), remedy="check the path"
        ) from None
    except OSError as error:
        raise StorageError(
            f"the certificate cannot be read ({error.strerror})",
            where=str(path),
            remedy="give a readable file",
        ) from None
    try:
        return Certificate.model_validate_json(text)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, each['loc'])) or 'the file'}: {each['msg']}"
            for each in error.errors()
        ]
        raise _refused(path, "it does not fit the schema", problems) from None


def schema_text() -> str:
    """The JSON schema of the models; the package ships it as a file."""
    schema = Certificate.model_json_schema()
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def shipped_schema() -> str:
    """The JSON schema shipped with this version."""
    return resources.files("serigraph.reporting").joinpath(SCHEMA).read_text(encoding="utf-8")


def _refused(path: Path, what: str, problems: list[str]) -> InputRefused:
    return InputRefused(
        f"this is not a certificate: {what}",
        where=str(path),
        remedy="give a certificate.json as it was published",
        problems=problems,
    )
