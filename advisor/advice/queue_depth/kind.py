"""Advice on the queue depths of the hosts of a datastore."""

from __future__ import annotations

from advisor.advice.kind import Kind, Stored, Variant
from advisor.advice.queue_depth.decide.queue_depth import advise_queue_depth
from advisor.advice.queue_depth.decide.queue_depth_answer import (
    QueueDepthAdvice,
    QueueDepthInputs,
    QueueDepthKind,
)
from advisor.advice.queue_depth.gather import has_stated_depths, queue_depth_inputs
from advisor.advice.queue_depth.show import show


def _essence(answer: Stored) -> object:
    return [[row["host"], row["advised_queue_depth"]] for row in answer["depths"]]


QUEUE_DEPTH = Kind(
    name="queue_depth",
    topic="queue_depth",
    words="queue depths",
    variants=(
        Variant(
            name=QueueDepthKind.QUEUE_DEPTH,
            words="queue depths",
            needs_samples="none; with the device's it says how much outstanding I/O there was",
            needs_stated="`--lun-queue-depth`, `--host-queue-depth`",
            approving="is noted: a person sets depths",
        ),
        Variant(
            name=QueueDepthKind.HOSTS_PER_LUN,
            words="hosts per LUN",
            needs_samples="none",
            needs_stated="the same, where not even a depth of 4 fits for all",
            approving="is noted: a person moves hosts",
        ),
    ),
    inputs=QueueDepthInputs,
    advice=QueueDepthAdvice,
    decide=advise_queue_depth,
    essence=_essence,
    gather=queue_depth_inputs,
    applies=has_stated_depths,
    show=show,
)
