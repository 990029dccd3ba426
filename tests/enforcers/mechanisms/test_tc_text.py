"""Reading what tc prints."""

import pytest

from enforcers.mechanisms.tc_htb.tc_text import (
    ClassCounters,
    Filter,
    class_lines,
    parse_classes,
    parse_counters,
    parse_filters,
    parse_qdiscs,
    parse_rate_bits_per_s,
    parse_size_bytes,
)

QDISCS = """\
qdisc htb 51ce: root refcnt 3 r2q 10 default 0x2 direct_packets_stat 0 direct_qlen 1000
qdisc bfifo 8029: parent 51ce:10 limit 587500b
qdisc clsact ffff: parent ffff:fff1
"""

CLASSES = """\
class htb 51ce:10 parent 51ce:1 leaf 8029: prio 0 quantum 65556 rate 75Mbit ceil 94Mbit \
linklayer ethernet burst 10912b/1 mpu 0b cburst 64Kb/1 mpu 0b level 0
 Sent 2191662080 bytes 180973 pkt (dropped 12, overlimits 247 requeues 3)
 backlog 91834b 61p requeues 3
 lended: 7 borrowed: 9 giants: 0
 tokens: -10234 ctokens: 8156

class htb 51ce:1 root rate 94Mbit ceil 94Mbit linklayer ethernet burst 64Kb/1 mpu 0b \
cburst 64Kb/1 mpu 0b level 7
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
 lended: 0 borrowed: 0 giants: 0
 tokens: 8156 ctokens: 8156

class fq_codel 800a:1 parent 800a:
 (dropped 0, overlimits 0 requeues 0)
"""

FILTERS = """\
filter protocol all pref 10 u32 chain 0
filter protocol all pref 10 u32 chain 0 fh 800: ht divisor 1
filter protocol all pref 10 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 \
*flowid 51ce:10 not_in_hw
  match 00000000/00000000 at 0
  input dev p1

filter protocol ipv6 pref 264 u32 chain 0
filter protocol ipv6 pref 264 u32 chain 0 fh 801: ht divisor 1
filter protocol ipv6 pref 264 u32 chain 0 fh 801::800 order 2048 key ht 801 bkt 0 \
*flowid 51ce:11 not_in_hw
  match fd000000/ffffffff at 8
  match 00000000/ffffffff at 12
filter protocol all pref 49152 matchall chain 0
filter protocol all pref 49152 matchall chain 0 handle 0x1
  not_in_hw
"""


@pytest.mark.parametrize(
    ("text", "bits_per_s"),
    [
        ("0bit", 0),
        ("8Kbit", 8_000),
        ("999992bit", 999_992),
        ("80612Kbit", 80_612_000),
        ("75Mbit", 75_000_000),
        ("1234Mbit", 1_234_000_000),
        ("1.5Gbit", 1_500_000_000),
        ("40Gbit", 40_000_000_000),
        ("1Tbit", 10**12),
    ],
)
def test_rate_is_read_in_bits_per_second(text: str, bits_per_s: int) -> None:
    assert parse_rate_bits_per_s(text) == bits_per_s


@pytest.mark.parametrize("text", ["", "75", "75Mbps", "fastbit", "-1bit"])
def test_rate_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a rate"):
        parse_rate_bits_per_s(text)


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("0b", 0), ("1593b", 1593), ("6Kb", 6144), ("2Mb", 2_097_152)]
)
def test_size_is_read_in_bytes(text: str, size_bytes: int) -> None:
    assert parse_size_bytes(text) == size_bytes


def test_qdiscs_have_kind_handle_parent_and_options() -> None:
    root, leaf, clsact = parse_qdiscs(QDISCS)

    assert (root.kind, root.handle, root.parent) == ("htb", "51ce:", "root")
    assert root.option("default") == "0x2"
    assert (leaf.kind, leaf.parent, leaf.option("limit")) == ("bfifo", "51ce:10", "587500b")
    assert (clsact.is_ingress, root.is_ingress) == (True, False)


def test_qdisc_line_leaves_out_the_reference_count() -> None:
    first = parse_qdiscs("qdisc pfifo_fast 0: root refcnt 2 bands 3\n")
    second = parse_qdiscs("qdisc pfifo_fast 0: root refcnt 9 bands 3\n")

    assert first == second


def test_classes_have_settings_and_counters_and_foreign_ones_are_left_out() -> None:
    leaf, root = parse_classes(class_lines(CLASSES))
    counted = parse_counters(CLASSES)

    assert (leaf.classid, leaf.parent) == ("51ce:10", "51ce:1")
    assert (leaf.rate_bits_per_s, leaf.ceil_bits_per_s) == (75_000_000, 94_000_000)
    assert (leaf.quantum_bytes, leaf.burst_bytes, leaf.cburst_bytes) == (65556, 10912, 65536)
    assert (root.classid, root.parent, root.quantum_bytes) == ("51ce:1", "root", None)
    assert counted == {
        "51ce:10": ClassCounters(
            sent_bytes=2191662080, drops=12, overlimits=247, backlog_bytes=91834
        ),
        "51ce:1": ClassCounters(sent_bytes=0, drops=0, overlimits=0, backlog_bytes=0),
    }


def test_class_without_counters_is_refused() -> None:
    with pytest.raises(ValueError, match="class without counters"):
        parse_counters(
            "class htb 51ce:1 root rate 94Mbit ceil 94Mbit burst 1b cburst 1b level 7\n"
        )


def test_filters_have_match_and_target_and_empty_tables_are_left_out() -> None:
    assert parse_filters(FILTERS) == (
        Filter(
            kind="u32",
            protocol="all",
            pref=10,
            handle="800::800",
            flowid="51ce:10",
            indev="p1",
            matches=("00000000/00000000 at 0",),
        ),
        Filter(
            kind="u32",
            protocol="ipv6",
            pref=264,
            handle="801::800",
            flowid="51ce:11",
            matches=("fd000000/ffffffff at 8", "00000000/ffffffff at 12"),
        ),
        Filter(kind="matchall", protocol="all", pref=49152, handle=None),
        Filter(kind="matchall", protocol="all", pref=49152, handle=None),
    )


@pytest.mark.parametrize("text", ["", "\n", "RTNETLINK answers: No such device\n"])
def test_text_without_objects_gives_none(text: str) -> None:
    assert parse_qdiscs(text) == class_lines(text) == parse_filters(text) == ()
    assert parse_counters(text) == {}
