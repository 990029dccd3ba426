"""A policy that a person composed, with what it would have done to the past."""

from __future__ import annotations

from advisor.advice.kind import Kind, Variant
from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.advice.shared.policies import granted
from advisor.advice.what_if.decide.what_if_draft import PolicyDraft, draft
from advisor.core.forecast.what_if import WhatIfInputs
from advisor.models import POLICY_TOPIC

WHAT_IF = Kind(
    name="what_if",
    topic=POLICY_TOPIC,
    words="policy",
    variants=(
        Variant(
            name=DRAFT,
            words="policy: draft",
            needs_samples="the workloads' adapters, for as long as the what-if looks back",
            needs_stated="the settings to try: a person composes them",
            approving="publishes a policy",
        ),
    ),
    inputs=WhatIfInputs,
    advice=PolicyDraft,
    decide=draft,
    essence=granted,
    publishes=True,
)
