"""Every kind of advice, from the stored text of its inputs to the text of its answer.

The same text in gives the same bytes out. So an answer can be computed again and checked at any
time, whatever it was about.
"""

from enum import StrEnum
from typing import assert_never

from advisor.advice.host_placement.decide.host_inputs import HostPlacementInputs
from advisor.advice.host_placement.decide.host_placement import advise_hosts
from advisor.advice.limit_check.decide.limit_check import check_limits
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs
from advisor.advice.off_peak_work.decide.scsi_conflicts import ConflictInputs, advise_off_peak_work
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_inputs import AdviceInputs
from advisor.advice.queue_depth.decide.queue_depth import advise_queue_depth
from advisor.advice.queue_depth.decide.queue_depth_answer import QueueDepthInputs
from advisor.advice.threshold.decide.threshold_advice import ThresholdInputs, advise_threshold
from advisor.advice.what_if.decide.what_if_draft import draft
from advisor.core.canonical import dumps, loads
from advisor.core.forecast.what_if import WhatIfInputs


class AdviceKind(StrEnum):
    """What advice is about; `policy` is about shares, reservations and limits together.

    `what_if` is a policy that a person composed.
    """

    POLICY = "policy"
    WHAT_IF = "what_if"
    THRESHOLD = "threshold"
    QUEUE_DEPTH = "queue_depth"
    OFF_PEAK_WORK = "off_peak_work"
    PLACEMENT = "placement"
    HOST_PLACEMENT = "host_placement"
    LIMIT_CHECK = "limit_check"


def answer(kind: AdviceKind, inputs_text: str) -> str:
    """The canonical text of the answer to the canonical text of the inputs.

    A text that is not the inputs of this kind is refused with a `CanonicalError` that names the
    path.
    """
    return dumps(_answer(kind, inputs_text))


def _answer(kind: AdviceKind, text: str) -> object:
    match kind:
        case AdviceKind.POLICY:
            return advise(loads(AdviceInputs, text))
        case AdviceKind.WHAT_IF:
            return draft(loads(WhatIfInputs, text))
        case AdviceKind.THRESHOLD:
            return advise_threshold(loads(ThresholdInputs, text))
        case AdviceKind.QUEUE_DEPTH:
            return advise_queue_depth(loads(QueueDepthInputs, text))
        case AdviceKind.OFF_PEAK_WORK:
            return advise_off_peak_work(loads(ConflictInputs, text))
        case AdviceKind.PLACEMENT:
            return advise_placement(loads(PlacementInputs, text))
        case AdviceKind.HOST_PLACEMENT:
            return advise_hosts(loads(HostPlacementInputs, text))
        case AdviceKind.LIMIT_CHECK:
            return check_limits(loads(LimitInputs, text))
        case _:
            assert_never(kind)
