"""How packets of a workload are recognised: what tc is told, and what the kernel shows of it."""

from dataclasses import replace

import pytest

from enforcers.contract import Selector
from enforcers.mechanisms.tc_htb.classify import Match, match_for, told_by
from enforcers.mechanisms.tc_htb.tc_text import Filter


def match(kind: str, value: str) -> Match:
    found = match_for(Selector(kind=kind, value=value))
    assert isinstance(found, Match)
    return found


def source(value: str) -> Match:
    return match("source_address", value)


def test_interface_matches_any_packet_before_every_address() -> None:
    found = match("vnic", "tap7")

    assert found == Match(
        protocol="all",
        pref=10,
        argv=("match", "u32", "0", "0", "indev", "tap7"),
        indev="tap7",
        shown=("00000000/00000000 at 0",),
    )


@pytest.mark.parametrize(
    ("value", "pref", "shown"),
    [
        # The source address is the 4th word of an IPv4 header.
        ("10.77.2.2", 100, ("0a4d0202/ffffffff at 12",)),
        ("10.77.0.0/16", 116, ("0a4d0000/ffff0000 at 12",)),
        ("128.0.0.0/1", 131, ("80000000/80000000 at 12",)),
    ],
)
def test_ipv4_source_is_one_word(value: str, pref: int, shown: tuple[str, ...]) -> None:
    found = source(value)

    assert (found.protocol, found.pref, found.shown) == ("ip", pref, shown)
    assert found.argv[:3] == ("match", "ip", "src")
    assert found.indev is None


@pytest.mark.parametrize(
    ("value", "pref", "shown"),
    [
        # The source address begins with the 3rd word of an IPv6 header.
        ("8000::/1", 327, ("80000000/80000000 at 8",)),
        ("fd00::/32", 296, ("fd000000/ffffffff at 8",)),
        ("fd00::/33", 295, ("fd000000/ffffffff at 8", "00000000/80000000 at 12")),
        (
            "2001:db8:1:2::/64",
            264,
            ("20010db8/ffffffff at 8", "00010002/ffffffff at 12"),
        ),
        (
            "2001:db8:1:2:3:4:5:6",
            200,
            (
                "20010db8/ffffffff at 8",
                "00010002/ffffffff at 12",
                "00030004/ffffffff at 16",
                "00050006/ffffffff at 20",
            ),
        ),
    ],
)
def test_ipv6_source_is_as_many_words_as_its_prefix_touches(
    value: str, pref: int, shown: tuple[str, ...]
) -> None:
    found = source(value)

    assert (found.protocol, found.pref, found.shown) == ("ipv6", pref, shown)


@pytest.mark.parametrize("value", ["0.0.0.0/0", "::/0"])
def test_prefix_of_nothing_is_refused(value: str) -> None:
    text = match_for(Selector(kind="source_address", value=value))

    assert text == f"source address {value!r} matches every packet"


def test_text_that_is_no_address_is_refused() -> None:
    text = match_for(Selector(kind="source_address", value="10.0.0.1/8"))

    assert text == "source address '10.0.0.1/8': 10.0.0.1/8 has host bits set"


def test_other_selector_is_refused_with_those_that_are_known() -> None:
    text = match_for(Selector(kind="mark", value="7"))

    assert text == "tc_htb recognises packets by vnic or source_address, not by mark"


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "flower"},
        {"protocol": "ip"},
        {"pref": 11},
        {"indev": "tap8"},
        {"indev": None},
        {"matches": ()},
    ],
    ids=str,
)
def test_filter_is_the_match_only_in_all_that_tells_packets(change: dict[str, object]) -> None:
    shown = Filter(
        kind="u32",
        protocol="all",
        pref=10,
        handle="800::800",
        flowid="51ce:10",
        indev="tap7",
        matches=("00000000/00000000 at 0",),
    )

    told = match("vnic", "tap7").told
    assert told == told_by(shown)
    assert told != told_by(replace(shown, **change))  # type: ignore[arg-type]  # one field
