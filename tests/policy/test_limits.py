"""What would take for ever is refused when the policy is read, with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from publishing.clinic import policy_text
from serigraph.errors import PolicyError
from serigraph.policy import parse_policy

STRATEGIES = {
    "releases": '[strategy]\nname = "constant"\nreleases = 1000000',
    "factor": '[strategy]\nname = "geometric"\nfactor = 1e300',
    "small factor": '[strategy]\nname = "geometric"\nfactor = "1e-5000"',
    "digits": '[strategy]\nname = "geometric"\nfactor = ' + "9" * 5000,
    "link_chances": f'[strategy]\nname = "schedule"\nlink_chances = [{"1, " * 1001}]',
}
THRESHOLDS = ('"1e-5000"', '"1e-500000000"', '"1/0"', f'"1/{10**30}"', str(10**400), '"1e-19"')


def refused(text: str) -> PolicyError:
    with pytest.raises(PolicyError) as refusal:
        parse_policy(text, "policy.toml", Path())
    return refusal.value


def clinic() -> str:
    return policy_text(columns='[quasi_identifiers.age]\nkind = "numeric"\n')


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
def test_a_strategy_that_cannot_be_computed(strategy: str) -> None:
    text = re.sub(r"\[strategy\][^\[]*", "", clinic()) + "\n" + strategy
    error = refused(text)
    assert len(str(error)) < 1000


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_a_threshold_that_cannot_be_computed(threshold: str) -> None:
    text = re.sub(r"(?m)^(threshold|l) = .*$", f"threshold = {threshold}", clinic())
    assert len(str(refused(text))) < 1000


@pytest.mark.parametrize("name", ["^age$", "*", "", "nul\\u0000", "x" * 201])
def test_a_name_that_is_none(name: str) -> None:
    text = clinic().replace("[quasi_identifiers.age]", f'[quasi_identifiers."{name}"]')
    assert refused(text).problems


def test_more_columns_than_groups_can_have() -> None:
    columns = "".join(f'[quasi_identifiers.c{i}]\nkind = "numeric"\n' for i in range(101))
    assert "quasi_identifiers" in str(refused(policy_text(columns=columns)))


def test_a_device_is_no_file_of_values() -> None:
    text = clinic().replace("[protected]", '[protected]\nfile = "/dev/zero"')
    assert "not a file" in str(refused(re.sub(r"(?m)^values = .*$", "", text)))


@pytest.mark.parametrize("key", ["delimiter", "quote"])
def test_a_character_that_csv_readers_do_not_know(key: str) -> None:
    error = refused(clinic() + f'\n[reading]\n{key} = "¦"\n')
    assert "ASCII" in str(error)
    assert f"reading.{key}" in str(error)
