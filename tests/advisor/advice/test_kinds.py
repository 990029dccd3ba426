"""Every kind of advice carries its why, and comes out of its stored inputs byte for byte."""

import json
from datetime import UTC, datetime

import pytest

from advisor.advice.host_placement.decide.host_inputs import (
    HostPlacementInputs,
    HostUplinks,
    NetworkWorkload,
)
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs, LimitWindow, VdiskLimit
from advisor.advice.queue_depth.decide.queue_depth_answer import HostDepth, QueueDepthInputs
from advisor.advice.registry import KINDS, answer
from advisor.advice.threshold.decide.threshold_advice import ThresholdInputs
from advisor.core import canonical
from advisor.core.canonical import CanonicalError
from advisor.core.resource import IoCount, LimitScope
from tests.advisor.advice.off_peak_work.conflict_studies import snapshots_by_day, study
from tests.advisor.advice.placement.placements import BUSY
from tests.advisor.core.device.device_lines import line

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
STORED = {
    "threshold": ThresholdInputs(datastore="ds1", threshold_ms=30.0, points=line(0.5, 0.1)),
    "queue_depth": QueueDepthInputs(
        datastore="ds1",
        lun_queue_depth=256,
        hosts=tuple(HostDepth(host=f"h{i}", device_queue_depth=32) for i in range(64)),
    ),
    "off_peak_work": study(conflicts=snapshots_by_day),
    "placement": BUSY,
    "host_placement": HostPlacementInputs(
        hosts=tuple(HostUplinks(host=name, uplink_bits_per_s=(1e10,)) for name in ("h1", "h2")),
        workloads=(
            NetworkWorkload(workload="a", host="h1", reservation_bits_per_s=7.5e9),
            NetworkWorkload(workload="b", host="h1", reservation_bits_per_s=4.5e9),
        ),
        now=NOW,
    ),
    "limit_check": LimitInputs(
        workload="w",
        datastore="ds1",
        scope=LimitScope.POOLED,
        count=IoCount.PLAIN,
        vdisks=(VdiskLimit(vdisk="d1", limit_iops=200, windows=(LimitWindow(iops=2000.0),) * 30),),
    ),
}
WHY = ("summary", "formula", "effects", "alternatives", "confidence", "reversibility")


@pytest.mark.parametrize("kind", STORED)
def test_an_answer_repeats_to_the_byte(kind):
    stored = canonical.dumps(STORED[kind])

    assert answer(kind, stored) == answer(kind, stored)


@pytest.mark.parametrize("kind", STORED)
def test_a_recommendation_carries_its_why(kind):
    found = json.loads(answer(kind, canonical.dumps(STORED[kind])))

    assert found["outcome"] == "recommendation"
    assert all(found[field] for field in (*WHY, "model_version"))
    assert 0 < found["confidence"]["value"] <= 1
    assert found["confidence"]["parts"]


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_a_text_that_is_no_inputs_is_refused_with_its_path(kind):
    with pytest.raises(CanonicalError, match=r"^\$\.surprise: unknown key"):
        answer(kind, '{"surprise":1}')
