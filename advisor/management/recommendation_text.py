"""A recommendation of any kind as text for people."""

from __future__ import annotations

import json

from advisor.advice.policy.decide.policy_answer import Recommendation as PolicyAnswer
from advisor.advice.registry import kind_of
from advisor.advice.what_if.decide.what_if_draft import PolicyDraft
from advisor.core.canonical import CanonicalError, loads
from advisor.management.advice_text import draft_text, other_advice_text, policy_text
from advisor.models import Recommendation
from advisor.queries.advice_detail import advice_detail


def recommendation_text(row: Recommendation) -> str:
    """Formatted if this version knows the format, else the stored JSON."""
    kind = kind_of(row)
    advice = advice_detail(row)
    if advice is not None:
        return other_advice_text(row, advice)
    if kind is not None and kind.publishes:
        try:
            answer = loads(kind.advice, row.answer)
        except CanonicalError:
            answer = None
        match answer:
            case PolicyDraft():
                return draft_text(row, answer)
            case PolicyAnswer():
                return policy_text(row, answer)
    return f"{row.summary}\n\n{json.dumps(json.loads(row.answer), indent=2)}"
