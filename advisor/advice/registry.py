"""All kinds of advice. A new one is a folder beside this file, and one line here."""

from __future__ import annotations

from typing import Any

from advisor.advice.host_placement.kind import HOST_PLACEMENT
from advisor.advice.kind import Kind, Variant
from advisor.advice.limit_check.kind import LIMIT_CHECK
from advisor.advice.off_peak_work.kind import OFF_PEAK_WORK
from advisor.advice.placement.kind import PLACEMENT
from advisor.advice.policy.kind import POLICY
from advisor.advice.queue_depth.kind import QUEUE_DEPTH
from advisor.advice.threshold.kind import THRESHOLD
from advisor.advice.what_if.kind import WHAT_IF
from advisor.core.canonical import CanonicalError
from advisor.models import Recommendation

KINDS: tuple[Kind[Any, Any], ...] = (
    POLICY,
    WHAT_IF,
    THRESHOLD,
    QUEUE_DEPTH,
    OFF_PEAK_WORK,
    PLACEMENT,
    HOST_PLACEMENT,
    LIMIT_CHECK,
)


def kind_named(name: str) -> Kind[Any, Any]:
    """The kind of this name; KeyError if there is none."""
    return {kind.name: kind for kind in KINDS}[name]


def kind_of(row: Recommendation) -> Kind[Any, Any] | None:
    """The kind that gave a recommendation; None if only another version knows it."""
    of_topic = [kind for kind in KINDS if kind.topic == row.topic]
    exact = [kind for kind in of_topic if row.kind in {one.name for one in kind.variants}]
    return next(iter(exact or of_topic), None)


def answer(name: str, inputs_text: str) -> str:
    """The answer of the kind of this name to the canonical text of its inputs."""
    return kind_named(name).answer(inputs_text)


def recomputes(row: Recommendation) -> bool:
    """Whether its stored inputs give its stored answer again, byte for byte."""
    kind = kind_of(row)
    try:
        return kind is not None and kind.answer(row.inputs) == row.answer
    except (CanonicalError, ValueError):
        return False


def topic_words(topic: str) -> str:
    """What advice is about, in words; a topic that only another version knows is its own word."""
    return next((kind.words for kind in KINDS if kind.topic == topic), topic)


def kind_words(kind: str) -> str:
    """What advice of a kind is about; a kind that only another version knows is its own word."""
    return next((one.words for one in KINDS if one.name == kind), kind)


def variants() -> tuple[Variant, ...]:
    """Everything that `Recommendation.kind` may say, in the order in which lists offer it."""
    return tuple(variant for kind in KINDS for variant in kind.variants)


def kinds_table() -> str:
    """The table of docs/advice.md, which leads to the README of each kind."""
    lines = [
        "| Kind | Needs samples of | Needs stated | Approving |",
        "|---|---|---|---|",
        *(
            f"| [{one.name}](../advisor/advice/{kind.name}/README.md) | {one.needs_samples} "
            f"| {one.needs_stated} | {one.approving} |"
            for kind in KINDS
            for one in kind.variants
        ),
    ]
    return "\n".join(lines)
