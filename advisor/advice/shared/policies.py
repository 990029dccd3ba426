"""What all policies have in common, whoever composed them."""

from __future__ import annotations

from advisor.advice.kind import Stored


def granted(answer: Stored) -> object:
    """What a policy grants to whom, and to whom together: the essence of a policy."""
    alone = [
        [row[key] for key in ("allocation", "reservation", "limit", "shares")]
        for row in answer["allocations"]
    ]
    return [alone, answer.get("pools", [])]
