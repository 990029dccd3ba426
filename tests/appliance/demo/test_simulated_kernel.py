"""The simulated kernel answers as the real one does: the agent's own parser reads it."""

import json

import pytest

from appliance.demo.simulated_kernel import SimulatedKernel
from appliance.demo.simulated_tree import Refused
from enforcers.mechanisms.tc_htb import tc_text
from enforcers.mechanisms.tc_htb.observed import parse_links

ADD_ROOT = "tc qdisc add dev up0 root handle 51ce: htb default 2"
ADD_CLASS = "tc class add dev up0 parent {} classid {} htb rate {}bit ceil 94000000bit"
NUMBERS = "quantum 9000 burst 1518 cburst 23500"
ADD_CLASSES = (
    f"{ADD_CLASS.format('51ce:', '51ce:1', 94000000)} {NUMBERS}",
    f"{ADD_CLASS.format('51ce:1', '51ce:2', 8000)} {NUMBERS}",
    f"{ADD_CLASS.format('51ce:1', '51ce:10', 75000000)} {NUMBERS}",
    "tc qdisc replace dev up0 parent 51ce:2 bfifo limit 587500",
    "tc qdisc replace dev up0 parent 51ce:10 bfifo limit 587500",
)
ADD_FILTER = (
    "tc filter add dev up0 parent 51ce: protocol all pref 10 u32 match u32 0 0 indev p1 "
    "classid 51ce:10"
)
DELETE_ROOT = "tc qdisc del dev up0 root"


def new_kernel(*commands: str) -> SimulatedKernel:
    kernel = SimulatedKernel(wire_bits_per_s=94e6, uplink="up0", vnics=("p1", "p2"), now_s=0.0)
    for command in commands:
        ask(kernel, command)
    return kernel


def ask(kernel: SimulatedKernel, command: str, *, now_s: float = 0.0, stdin: str = "") -> str:
    return kernel.answer(command.split(), stdin=stdin, now_s=now_s)


def shaped_kernel() -> SimulatedKernel:
    return new_kernel(ADD_ROOT, *ADD_CLASSES, ADD_FILTER)


def shown_classes(kernel: SimulatedKernel) -> tuple[tc_text.HtbClass, ...]:
    return tc_text.parse_classes(tc_text.class_lines(ask(kernel, "tc -s -d class show dev up0")))


def test_untouched_interface_shows_the_default_qdisc():
    (root,) = tc_text.parse_qdiscs(ask(new_kernel(), "tc qdisc show dev up0"))

    assert (root.kind, root.handle, root.parent) == ("noqueue", "0:", "root")


def test_shaped_interface_shows_its_qdiscs():
    qdiscs = tc_text.parse_qdiscs(ask(shaped_kernel(), "tc qdisc show dev up0"))

    assert [(item.kind, item.parent) for item in qdiscs] == [
        ("htb", "root"),
        ("bfifo", "51ce:2"),
        ("bfifo", "51ce:10"),
    ]


def test_shaped_interface_shows_its_classes():
    classes = shown_classes(shaped_kernel())

    reserved = {item.classid: item for item in classes}["51ce:10"]
    assert reserved.parent == "51ce:1"
    assert reserved.rate_bits_per_s == 75_000_000
    assert reserved.ceil_bits_per_s == 94_000_000
    assert reserved.quantum_bytes == 9000
    assert (reserved.burst_bytes, reserved.cburst_bytes) == (1518, 23500)


def test_shaped_interface_shows_its_filters():
    shown = ask(shaped_kernel(), "tc filter show dev up0 parent 51ce:")

    (found,) = tc_text.parse_filters(shown)
    assert (found.indev, found.flowid, found.pref) == ("p1", "51ce:10", 10)
    assert found.matches == ("00000000/00000000 at 0",)


def test_filter_on_headers_is_shown_and_goes_with_its_preference():
    added = "tc filter add dev up0 parent 51ce: protocol ip pref 1024 u32 "
    keys = "match u32 0x00110000 0x00ff0000 at 8 match u32 0x00000801 0x0000ffff at 20"
    kernel = shaped_kernel()
    ask(kernel, f"{added}{keys} classid 51ce:2")
    show = "tc filter show dev up0 parent 51ce:"

    found = tc_text.parse_filters(ask(kernel, show))
    ask(kernel, "tc filter del dev up0 parent 51ce: protocol ip pref 1024")
    left = tc_text.parse_filters(ask(kernel, show))

    assert [(item.protocol, item.pref, item.flowid) for item in found] == [
        ("all", 10, "51ce:10"),
        ("ip", 1024, "51ce:2"),
    ]
    assert found[1].matches == ("00110000/00ff0000 at 8", "00000801/0000ffff at 20")
    assert left == found[:1]


def test_inner_class_is_shown_below_its_parent():
    kernel = new_kernel(
        ADD_ROOT,
        ADD_CLASSES[0],
        f"{ADD_CLASS.format('51ce:1', '51ce:3', 9400000)} {NUMBERS}",
        f"{ADD_CLASS.format('51ce:3', '51ce:2', 9400000)} {NUMBERS}",
        ADD_CLASSES[3],
    )

    classes = shown_classes(kernel)

    assert {item.classid: item.parent for item in classes} == {
        "51ce:1": "root",
        "51ce:3": "51ce:1",
        "51ce:2": "51ce:3",
    }


def test_batch_is_done_up_to_the_line_that_is_refused():
    lines = (ADD_ROOT, *ADD_CLASSES[:2], ADD_CLASSES[4], *ADD_CLASSES[2:4])
    batch = "".join(f"{line.removeprefix('tc ')}\n" for line in lines)
    kernel = new_kernel()

    with pytest.raises(Refused, match=r"class not found\.\nCommand failed -:4$"):
        ask(kernel, "tc -batch -", stdin=batch)

    classes = shown_classes(kernel)
    assert [item.classid for item in classes] == ["51ce:1", "51ce:2"]


def test_simulated_kernel_has_no_fq_codel():
    with pytest.raises(Refused, match="kind is unknown"):
        ask(shaped_kernel(), "tc qdisc replace dev up0 parent 51ce:2 fq_codel limit 64")


def test_deleted_root_shows_what_was_there_before():
    shows = [f"tc {kind} show dev up0" for kind in ("qdisc", "class", "filter")]
    kernel = new_kernel()
    before = [ask(kernel, show) for show in shows]

    for command in (ADD_ROOT, *ADD_CLASSES, ADD_FILTER, DELETE_ROOT):
        ask(kernel, command)

    assert [ask(kernel, show) for show in shows] == before


def test_traffic_follows_the_classes():
    kernel = shaped_kernel()
    ask(kernel, "start-senders")

    counters = json.loads(ask(kernel, "counters", now_s=10.0))

    # 94 - 75 - 0.008 leave 18.992, half of it each: 84.5 and 9.5 Mbit/s for 10 s.
    assert counters["p1"]["bytes_recv"] == pytest.approx(84.496e6 / 8 * 10, rel=0.01)
    assert counters["p2"]["bytes_recv"] == pytest.approx(9.504e6 / 8 * 10, rel=0.01)
    counted = tc_text.parse_counters(ask(kernel, "tc -s -d class show dev up0", now_s=10.0))
    assert counted["51ce:10"].sent_bytes == pytest.approx(counters["p1"]["bytes_recv"], abs=1)


@pytest.mark.parametrize(
    "commands", [(), (ADD_ROOT,), (ADD_ROOT, *ADD_CLASSES[:1])], ids=["none", "root", "no leaf"]
)
def test_traffic_without_classes_is_split_about_evenly(commands):
    kernel = new_kernel(*commands)
    ask(kernel, "start-senders")

    counters = json.loads(ask(kernel, "counters", now_s=10.0))

    for name in ("p1", "p2"):
        assert counters[name]["bytes_recv"] == pytest.approx(47e6 / 8 * 10, rel=0.05)


def test_links_are_those_of_the_host():
    links = parse_links(ask(new_kernel(), "ip -j -d link show"))

    assert set(links) == {"up0", "p1", "p2"}
    assert links["p1"].largest_bytes == 1518


@pytest.mark.parametrize(
    "command",
    [
        "tc qdisc show dev up9",
        "tc qdisc del dev up0 root",
        "tc qdisc add dev up0 root handle 1: tbf rate 1mbit",
        "tc class del dev up0 classid 51ce:10",
        "tc qdisc replace dev up0 parent 51ce:10 bfifo limit 3000",
        "ip route add default via 10.0.0.1",
    ],
)
def test_kernel_refuses_what_it_does_not_have(command):
    kernel = new_kernel()

    with pytest.raises(Refused):
        ask(kernel, command)


def test_namespace_of_its_own_leaves_the_host_alone():
    kernel = new_kernel()
    batch = "qdisc add dev lo root handle 1: htb default 2\n"

    ask(kernel, "unshare --net tc -batch -", stdin=batch)

    with pytest.raises(Refused):
        ask(kernel, "tc qdisc show dev lo")
