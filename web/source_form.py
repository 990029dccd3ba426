"""The form of a vCenter that is read: filled, and read as it was sent."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.decisions.vcenter.sources import StatedSource
from advisor.errors import DecisionRefused
from advisor.models import VcenterSource
from advisor.models.source import LONGEST_AUTHORITY, USUAL_EVERY_MIN

FIELDS = ("name", "address", "user", "fingerprint", "authority", "every_min", "takes_over")
"""All but the password, which no page shows."""


def form_of(row: VcenterSource) -> dict[str, str]:
    """What the form holds for a source."""
    return {
        "name": row.name,
        "address": row.address,
        "user": row.user,
        "fingerprint": row.fingerprint,
        "authority": row.authority,
        "every_min": str(row.every_min),
        "takes_over": "on" if row.takes_over else "",
        "is_kept": "yes",
    }


def empty_form() -> dict[str, str]:
    """What it holds for a new one."""
    return {**dict.fromkeys(FIELDS, ""), "every_min": str(USUAL_EVERY_MIN)}


def sent_form(sent: Mapping[str, str]) -> dict[str, str]:
    """What was sent, as far as it is short enough to be shown again."""
    return {name: str(sent.get(name, "")).strip()[: 2 * LONGEST_AUTHORITY] for name in FIELDS}


def source_of_form(form: Mapping[str, str], password: str) -> StatedSource:
    """The source that a form states; DecisionRefused with what cannot be read."""
    if any("\x00" in text for text in (*form.values(), password)):
        raise DecisionRefused("a text holds a character that cannot be stored")
    minutes = form["every_min"] or str(USUAL_EVERY_MIN)
    if not (minutes.isascii() and minutes.isdecimal() and len(minutes) < 7):
        raise DecisionRefused(f'"{minutes[:20]}" is not a number of minutes')
    return StatedSource(
        name=form["name"],
        address=form["address"],
        user=form["user"],
        password=password,
        fingerprint=form["fingerprint"],
        authority=form["authority"],
        every_min=int(minutes),
        takes_over=bool(form["takes_over"]),
    )
