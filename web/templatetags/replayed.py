"""How pages of replays write numbers and verdicts."""

from __future__ import annotations

from django import template

from advisor.lab.replay.finding import Verdict
from web.drawing.replay import number_text

register = template.Library()

_STATES = {Verdict.HOLDS: "", Verdict.DIFFERS: "state-near", Verdict.NOT_MODELLED: "muted"}
_MARKS = {
    Verdict.HOLDS: "approved",
    Verdict.DIFFERS: "near",
    Verdict.NOT_MODELLED: "unknown",
}


@register.filter
def four_digits(value: float) -> str:
    return number_text(value) or ""


_WORDS = {
    Verdict.HOLDS: "reproduced",
    Verdict.DIFFERS: "deviates",
    Verdict.NOT_MODELLED: "not modelled",
}


@register.filter
def verdict_words(verdict: str) -> str:
    return _WORDS[Verdict(verdict)]


@register.filter
def verdict_state(verdict: str) -> str:
    """The class that colours the word."""
    return _STATES[Verdict(verdict)]


@register.filter
def verdict_mark(verdict: str) -> str:
    """The shape beside the word."""
    return _MARKS[Verdict(verdict)]
