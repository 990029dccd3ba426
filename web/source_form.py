"""The form of a source that is read: filled, and read as it was sent."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.decisions.sources.problems import StatedSource
from advisor.errors import DecisionRefused
from advisor.models import ReadSource
from advisor.models.source import (
    LONGEST_AUTHORITY,
    USUAL_EVERY_MIN,
    USUAL_TIER_LABEL,
    SourceKind,
)

FIELDS = (
    "kind", "name", "address", "user", "fingerprint", "authority", "every_min", "takes_over",
    "tier_label", "class_rates",
)  # fmt: skip
"""All but the password, which no page shows."""


def form_of(row: ReadSource) -> dict[str, str]:
    """What the form holds for a source."""
    return {
        "kind": row.kind,
        "name": row.name,
        "address": row.address,
        "user": row.user,
        "fingerprint": row.fingerprint,
        "authority": row.authority,
        "every_min": str(row.every_min),
        "takes_over": "on" if row.takes_over else "",
        "tier_label": row.tier_label,
        "class_rates": row.class_rates,
        "is_kept": "yes",
    }


def empty_form(kind: str) -> dict[str, str]:
    """What it holds for a new one; of an unknown kind, for a vCenter."""
    is_cluster = kind == SourceKind.KUBERNETES
    return {
        **dict.fromkeys(FIELDS, ""),
        "kind": SourceKind.KUBERNETES if is_cluster else SourceKind.VCENTER,
        "every_min": str(USUAL_EVERY_MIN),
        "tier_label": USUAL_TIER_LABEL if is_cluster else "",
    }


def sent_form(sent: Mapping[str, str]) -> dict[str, str]:
    """What was sent, as far as it is short enough to be shown again."""
    found = {name: str(sent.get(name, "")).strip()[: 2 * LONGEST_AUTHORITY] for name in FIELDS}
    return {**found, "kind": empty_form(found["kind"])["kind"]}


def source_of_form(form: Mapping[str, str], password: str) -> StatedSource:
    """The source that a form states; DecisionRefused with what cannot be read."""
    if any("\x00" in text for text in (*form.values(), password)):
        raise DecisionRefused("a text holds a character that cannot be stored")
    minutes = form["every_min"] or str(USUAL_EVERY_MIN)
    if not (minutes.isascii() and minutes.isdecimal() and len(minutes) < 7):
        raise DecisionRefused(f'"{minutes[:20]}" is not a number of minutes')
    return StatedSource(
        kind=SourceKind(form["kind"]),
        name=form["name"],
        address=form["address"],
        user=form["user"],
        password=password,
        fingerprint=form["fingerprint"],
        authority=form["authority"],
        every_min=int(minutes),
        takes_over=bool(form["takes_over"]),
        tier_label=form["tier_label"],
        class_rates=form["class_rates"],
    )
