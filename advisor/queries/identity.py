"""Why the devices of a resource are one thing, for people."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.core.enumeration import listed
from advisor.models import Resource

MOST_NOTES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityNote:
    """Some places, and why they are the resource or are not."""

    places: str
    text: str


def identity_notes(row: Resource) -> list[IdentityNote]:
    """What is to be said about its devices, merges before refusals."""
    reasons = sorted(row.reasons, key=lambda one: not one["merged"])
    return [
        IdentityNote(
            places=listed(one["places"]),
            text=one["text"] if one["merged"] else f"not one: {one['text']}",
        )
        for one in reasons[:MOST_NOTES]
    ]
