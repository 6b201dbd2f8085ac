"""What Spark cannot do is refused by the policy alone."""

from __future__ import annotations

import pytest

from publishing.clinic import policy_text
from serigraph.engines.spark.engine import check_policy
from serigraph.errors import InputRefused
from serigraph.policy import parse_policy

AGE = '[quasi_identifiers.age]\nkind = "numeric"\n'
PERSISTS = 'except = ["other"]\n[protected.persistence]\ndefault = "any"'
PART = 'except = ["other"]\n[protected.persistence]\ndefault = "transient"\n"HIV" = "permanent"'
LARGE = 'threshold = "1/2"\nminimum_group_size = 2'
KNOWN = 'threshold = "1/2"\nknown_members = 1'
BLIND = 'threshold = "1/2"\ncuts = "blind"'


@pytest.mark.parametrize(
    ("sections", "what", "where"),
    [
        ({"protected": PERSISTS}, "values that persist", "protected.persistence"),
        ({"protected": PART}, "values that persist", "protected.persistence"),
        ({"guarantee": KNOWN}, "knows members of groups", "known_members"),
        ({"guarantee": BLIND}, "cut blind", "cuts"),
        (
            {"sensitive": 'column = "income"\nkind = "numeric"', "protected": 'closeness = "10"'},
            "numbers or dates",
            "kind in",
        ),
        ({"guarantee": LARGE, "rest": '[plain]\nward = "text"\n'}, "plain ones", "plain"),
    ],
)
def test_what_spark_cannot_do_is_refused(sections: dict[str, str], what: str, where: str) -> None:
    policy = parse_policy(policy_text(**{"columns": AGE} | sections), "policy.toml", ".")
    with pytest.raises(InputRefused, match=what) as refused:
        check_policy(policy)
    assert where in str(refused.value)
    remedy = "transient" in str(refused.value)
    assert remedy == (what == "values that persist")


def test_other_policies_are_taken() -> None:
    check_policy(parse_policy(policy_text(columns=AGE), "policy.toml", "."))
