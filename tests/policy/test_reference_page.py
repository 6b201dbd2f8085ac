"""The reference page documents every key, and its example is a policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from serigraph.policy import parse_policy
from serigraph.policy.model import PolicyForm
from serigraph.policy.sections import QuasiIdentifier
from serigraph.policy.strategy import STRATEGIES

PAGE = (Path(__file__).parents[2] / "docs/reference/policy.md").read_text()


def models() -> Iterator[tuple[str, type[BaseModel]]]:
    yield "Top level", PolicyForm
    yield "`[quasi_identifiers.NAME]`", QuasiIdentifier
    for model in STRATEGIES.values():
        yield "`[strategy]`", model
    for name, field in PolicyForm.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield f"`[{name}]`", field.annotation


def test_every_key_is_documented_in_its_section_and_no_other() -> None:
    documented: dict[str, set[str]] = {}
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        heading = section.splitlines()[0]
        documented[heading] = set(re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE))
    known: dict[str, set[str]] = {}
    for heading, model in models():
        keys = {field.alias or name for name, field in model.model_fields.items()}
        known.setdefault(heading, set()).update(keys)
    assert len(known) == 14
    assert {heading: keys for heading, keys in documented.items() if keys} == known


def test_the_example_is_a_policy(tmp_path: Path) -> None:
    (tmp_path / "taxonomies").mkdir()
    (tmp_path / "taxonomies/zip.csv").write_text("65001;*\n")
    example = re.search(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert example is not None
    assert parse_policy(example[1], "policy.toml", tmp_path).strategy_for()
