"""The committed JSON Schema is that of the reader, and says what the reader says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from jsonschema import Draft202012Validator

from advisor.decisions.policy_file.decide.document import PolicyFile
from advisor.decisions.policy_file.decide.problems import PolicyFileError
from advisor.decisions.policy_file.decide.read import read_policy_file
from advisor.decisions.policy_file.decide.schema import policy_file_schema
from advisor.decisions.policy_file.decide.write import policy_file_text
from tests.advisor.policy_file.documents import documents

COMMITTED = Path(__file__).parents[3] / "docs" / "policy-file.schema.json"
SCHEMA = policy_file_schema()


def test_committed_schema_is_that_of_the_reader() -> None:
    assert json.loads(COMMITTED.read_text()) == SCHEMA, (
        "write it anew: sluice validate --schema > docs/policy-file.schema.json"
    )


def test_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@given(documents())
def test_schema_takes_what_is_written(document: PolicyFile) -> None:
    plain = yaml.safe_load(policy_file_text(document, units={}))

    assert list(Draft202012Validator(SCHEMA).iter_errors(plain)) == []


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"sluice": 2},
        {"sluice": 1, "resorces": []},
        {"sluice": 1, "rules": None},
        {"sluice": 1, "alarm_budget": 0.001},
        {"sluice": 1, "alarm_budget": "some"},
        {"sluice": 1, "workloads": [{"tier": "low"}]},
        {"sluice": 1, "workloads": [{"name": "a", "tags": "label.team=shop"}]},
        {"sluice": 1, "teams": [{"name": "a", "members": ["b"]}]},
        {"sluice": 1, "workloads": [{"name": "a", "tier": "top"}]},
        {"sluice": 1, "workloads": [{"name": "", "tier": "low"}]},
        {"sluice": 1, "workloads": [{"name": 7, "tier": "low"}]},
        {"sluice": 1, "workloads": [{"name": "a", "tier": "low", "teir": "low"}]},
        {"sluice": 1, "rollouts": []},
        {"sluice": 1, "rollouts": {"stage": "soon"}},
        {"sluice": 1, "rollouts": {"unsure": "perhaps"}},
        {"sluice": 1, "rollouts": {"stages": True}},
        {"sluice": 1, "ladder": [{"name": "a", "level": "dance"}]},
        {"sluice": 1, "ladder": [{"name": "a", "kind": "magic"}]},
        {"sluice": 1, "ladder": [{"name": "a", "level": "tell", "most_per_day": -1}]},
        {"sluice": 1, "maintenance": [{"name": "a", "start": "2026-01-01", "length": "2 hours"}]},
    ],
    ids=str,
)
def test_schema_and_reader_refuse_the_same(plain: object) -> None:
    assert list(Draft202012Validator(SCHEMA).iter_errors(plain))
    with pytest.raises(PolicyFileError):
        read_policy_file(json.dumps(plain), file="site.yaml")
