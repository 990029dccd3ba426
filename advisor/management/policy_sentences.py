"""What commands say of the policies that are not in force, or were measured not to hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from advisor.history.policy_state import PolicyState
from advisor.models import Policy


def policy_sentences(states: Iterable[tuple[Policy, PolicyState]]) -> str:
    """A line for each of them; empty if all hold."""
    return "".join(f"\n{policy} is {state.text}." for policy, state in states if state.is_doubtful)


def state_document(state: PolicyState | None) -> Mapping[str, Any]:
    """A state for programs; all None without a policy."""
    if state is None:
        return {"policy_link": None, "policy_gap": None, "policy_in_force": None}
    return {
        "policy_link": state.link.value,
        "policy_gap": state.gap,
        "policy_in_force": state.is_in_force,
    }
