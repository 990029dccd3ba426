"""What advice is expected to bring, as a message says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from advisor.models import Recommendation
from advisor.notifications.expected import expected_effect

VICTIM = {"workload": "db", "measured": 40e6, "predicted_after": 75e6,
          "interval": {"low": 70e6, "high": 80e6, "level": 0.8}}  # fmt: skip
HOG = {"workload": "backup", "measured": 60e6, "predicted_after": 10e6, "interval": None}
OTHER = {"workload": "web", "measured": 5e6, "predicted_after": 6e6}
UNSURE = {"workload": "db", "measured": 1.0, "predicted_after": 2.0, "unsure": "too few samples"}
UNKNOWN = {"workload": "db", "measured": None, "predicted_after": 2.0}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"allocations": [OTHER, HOG, VICTIM]},
            (
                "Expected if approved: db 40.0 Mbit/s → 75.0 Mbit/s (70.0 Mbit/s to 80.0 Mbit/s); "
                "backup 60.0 Mbit/s → 10.0 Mbit/s."
            ),
        ),
        ({"allocations": [UNSURE, UNKNOWN]}, ""),
        ({"allocations": []}, ""),
        ({}, ""),
        (
            {"effects": [
                {"quantity": "latency", "unit": "ms", "before": 40.0, "after": 12.0, "how": ""},
                {"quantity": "load", "unit": "ratio", "before": None, "after": 0.5, "how": ""},
            ]},
            "Expected if approved: latency 40.0 ms → 12.0 ms.",
        ),
    ],
    ids=["rates, of who is harmed first", "nothing sure", "none", "another version", "effects"],
)  # fmt: skip
def test_what_is_foretold_is_one_line(answer: dict[str, Any], said: str) -> None:
    advice = Recommendation(answer=json.dumps(answer))

    assert expected_effect(advice, harmed={"db"}, unit="bits_per_s") == said
