"""The tier that a label states."""

from __future__ import annotations

import pytest

from advisor.core.labelled_tier import labelled_tier, unknown_tiers
from advisor.core.resource import Tier

LABEL = "sluice.io/tier"


@pytest.mark.parametrize(
    ("labels", "tier"),
    [
        ({LABEL: "high"}, Tier.HIGH),
        ({LABEL: "Low"}, Tier.LOW),
        ({LABEL: "gold"}, None),
        ({"tier": "high"}, None),
        ({}, None),
    ],
)
def test_label_states_a_tier_that_there_is(labels: dict[str, str], tier: Tier | None) -> None:
    assert labelled_tier(labels, LABEL) == tier


def test_tiers_that_there_are_not_are_counted() -> None:
    pods = [{LABEL: "gold"}, {LABEL: "gold"}, {LABEL: "high"}, {}, {LABEL: "none"}]

    assert unknown_tiers(pods, LABEL) == {"gold": 2, "none": 1}
