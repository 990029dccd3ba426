"""The queues of classes: how long they may become, and when they are right already."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.mechanisms.tc_htb.leaf_queue import LeafQueue, leaf_queue
from enforcers.mechanisms.tc_htb.sizing import Packets
from enforcers.mechanisms.tc_htb.tc_text import parse_qdiscs
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import LINK, desired, uplink, vnic
from tests.enforcers.rig import Rig, start_rig

HTB = "tc_htb"
FRAMES = Packets(frame_bytes=1518, largest_bytes=1518)


def fq_codel(rate: float, ceil: float = LINK) -> LeafQueue:
    return leaf_queue(rate_bits_per_s=rate, ceil_bits_per_s=ceil, packets=FRAMES)


def test_queue_on_a_fast_class_has_the_usual_target_and_a_quarter_second_of_room() -> None:
    # 94 Mbit/s bring 2,937,500 bytes in 0.25 s: 1935.1 frames.
    assert fq_codel(LINK).words(None) == (
        *("fq_codel", "limit", "1935", "quantum", "1518", "target", "5ms", "interval", "100ms"),
        *("flows", "256"),
    )


def test_target_on_a_slow_class_is_at_least_the_time_of_one_and_a_half_frames() -> None:
    # A frame takes 12.144 ms of 1 Mbit/s: 18.2 ms; 5, 10, 20.
    assert dict(fq_codel(1e6, 1e6).options) == {
        "limit": "64p",
        "quantum": "1518",
        "target": "20ms",
        "interval": "115ms",
    }


@pytest.mark.parametrize(
    ("link", "workload", "host"),
    # 50 ms of the link and of the host's part of it; four and two packets of 65554 bytes.
    [(94e6, "587500", "131108"), (1e6, "262216", "131108"), (1e9, "6250000", "312500")],
    ids=["50 ms, two packets", "packets", "50 ms"],
)
def test_without_fq_codel_a_queue_is_a_fifo_of_time_and_packets(
    tc: FakeTc, rig: Rig, link: float, workload: str, host: str
) -> None:
    tc.has_fq_codel = False

    rig.apply(HTB, desired(uplink(capacity=link), vnic(1)))

    found = {name: leaf.options for name, leaf in tc.devices["up0"].leaves.items()}
    assert found == {"51ce:10": {"limit": workload}, "51ce:2": {"limit": host}}


@pytest.mark.parametrize(
    ("limit", "segments", "fifo_bytes"),
    # 30 ms of the limit, and two and a half packets of 1518 bytes, or of 65554.
    [(20e6, 1, "75000"), (1e6, 1, "3795"), (1e6, 65535, "163885"), (94e6, 1, "587500")],
    ids=["30 ms", "frames", "offload packets", "as much as the link"],
)
def test_without_fq_codel_a_workload_waits_by_its_own_limit(
    tc: FakeTc, rig: Rig, limit: float, segments: int, fifo_bytes: str
) -> None:
    tc.has_fq_codel = False
    for device in tc.devices.values():
        device.gso_max_segs = segments

    rig.apply(HTB, desired(uplink(), vnic(1, limit=limit), vnic(2)))

    found = {name: leaf.options["limit"] for name, leaf in tc.devices["up0"].leaves.items()}
    # Who has no limit may need the whole link.
    assert (found["51ce:10"], found["51ce:11"]) == (fifo_bytes, "587500")


@given(st.floats(8000, 1e12), st.floats(1, 1e4))
def test_packet_is_never_late_by_the_time_that_its_class_needs_for_it(
    rate: float, ratio: float
) -> None:
    options = dict(fq_codel(rate, min(rate * ratio, 1e12)).options)

    target_ms, interval_ms = (
        int(options[key].removesuffix("ms")) for key in ("target", "interval")
    )
    assert target_ms >= max(5, 1518 * 8 / rate * 1000)
    assert interval_ms - target_ms == 95
    assert 64 <= int(options["limit"].removesuffix("p")) <= 10_240


@pytest.mark.parametrize(
    ("shown", "is_right"),
    [
        ("limit 64p flows 256 quantum 1518 target 20ms interval 115ms memory_limit 32Mb", True),
        ("limit 64p flows 1024 quantum 1518 target 20ms interval 115ms memory_limit 4Mb", True),
        ("limit 65p flows 256 quantum 1518 target 20ms interval 115ms memory_limit 32Mb", False),
        ("limit 64p flows 256 quantum 1514 target 20ms interval 115ms memory_limit 32Mb", False),
        ("limit 64p flows 256 quantum 1518 target 19ms interval 115ms memory_limit 32Mb", False),
        ("limit 64p flows 256 quantum 1518 target 20us interval 115ms memory_limit 32Mb", False),
        ("limit 64p flows 256 quantum 1518 target 20ms interval 0.2s memory_limit 32Mb", False),
        ("limit 64p flows 256 quantum 1518", False),
    ],
)
def test_queue_is_compared_with_what_tc_shows(shown: str, is_right: bool) -> None:
    (present,) = parse_qdiscs(f"qdisc fq_codel 8001: parent 51ce:10 {shown} ecn drop_batch 64")

    assert fq_codel(1e6, 1e6).is_in(present) is is_right


@pytest.mark.parametrize(
    ("shown", "wanted_bytes", "is_right"),
    [
        ("587500b", 587_500, True),
        ("587501b", 587_500, False),
        # tc shows 40,000,512 as 39063Kb, and what is in bytes is exact.
        ("40000000b", 40_000_000, True),
        ("39063Kb", 40_000_000, False),
        ("576Kb", 589_823, True),
        ("577Kb", 589_823, False),
        # 1,049,600 is 1024 above a mebibyte.
        ("1Mb", 1_049_600, False),
        ("1Mb", 1_049_599, True),
        ("64p", 64, False),
    ],
)
def test_size_of_a_fifo_is_compared_as_tc_rounds_it(
    shown: str, wanted_bytes: int, is_right: bool
) -> None:
    (present,) = parse_qdiscs(f"qdisc bfifo 8001: parent 51ce:10 limit {shown}")
    queue = LeafQueue(kind="bfifo", options=(("limit", f"{wanted_bytes}b"),))

    assert queue.is_in(present) is is_right


def test_seconds_of_a_very_slow_class_are_recognised() -> None:
    # A frame takes 1518 ms of 8 kbit/s, one and a half 2277; tc shows 2655 ms with three digits.
    queue = fq_codel(8000, 8000)
    (present,) = parse_qdiscs(
        "qdisc fq_codel 8001: parent 51ce:10 limit 64p quantum 1518 target 2.56s interval 2.65s"
    )

    assert dict(queue.options)["target"] == "2560ms"
    assert queue.is_in(present)


def test_every_class_has_its_own_queue_by_what_it_gets(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), vnic(1, 75e6), vnic(2, limit=1e6), vnic(3)))

    leaves = tc.devices["up0"].leaves
    found = {classid: (leaf.kind, leaf.options["target"]) for classid, leaf in leaves.items()}
    # The largest packet is 65554 bytes, so a frame is 1518 of it. vm3 has 8 kbit/s and a quarter
    # of the 9.584 Mbit/s that 75, 9.4 and twice 0.008 leave: 2.404; 1.5 frames take 7.6 ms of it.
    assert found == {
        "51ce:2": ("fq_codel", "5ms"),
        "51ce:10": ("fq_codel", "5ms"),
        "51ce:11": ("fq_codel", "20ms"),
        "51ce:12": ("fq_codel", "10ms"),
    }


def test_queue_changes_in_place_when_its_class_does(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), vnic(1, limit=1e6)))
    before = tc.devices["up0"].leaves["51ce:10"]

    plan = rig.apply(HTB, desired(uplink(), vnic(1, limit=2e6)))

    assert plan.changes == ()
    after = tc.devices["up0"].leaves["51ce:10"]
    # 9.108 ms; a new queue would have lost what waited in the old one.
    assert (after.options["target"], after.options["flows"]) == ("10ms", "256")
    assert after is before


def test_queue_of_another_kind_is_replaced(tc: FakeTc, rig: Rig) -> None:
    tc.has_fq_codel = False
    rig.apply(HTB, desired(uplink(), vnic(1)))
    assert {leaf.kind for leaf in tc.devices["up0"].leaves.values()} == {"bfifo"}

    tc.has_fq_codel = True
    start_rig(rig.directory, tc).apply(HTB, desired(uplink(), vnic(1)))

    assert {leaf.kind for leaf in tc.devices["up0"].leaves.values()} == {"fq_codel"}
