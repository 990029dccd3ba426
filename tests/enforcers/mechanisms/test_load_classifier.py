"""What the loader writes into the program's maps and tunables (classify.bpf.c)."""

import struct

import pytest

from enforcers.mechanisms.tc_htb import load_classifier, signs
from enforcers.mechanisms.tc_htb.load_classifier import (
    address_key,
    read_entry,
    sign_key,
    tunables,
)


def test_loader_knows_the_words_and_bounds_of_the_agent() -> None:
    assert tuple(signs.Owner) == load_classifier.OWNERS
    assert tuple(signs.Sort) == load_classifier.SORTS
    assert signs.MOST_MASKS == load_classifier.MOST_MASKS
    assert signs.DEEPEST_CGROUP == load_classifier.MOST_LEVELS


@pytest.mark.parametrize(
    ("word", "owner", "sort", "value"),
    [
        ("workloads,mark,0x10/0xf0,51ce:10", 0, 0, 0xF0_0000_0010),
        ("host,mark,0x7/0xffffffff,51ce:b", 1, 0, 0xFFFF_FFFF_0000_0007),
        # The depth of a group is no part of its key.
        ("workloads,cgroup,4711/3,51ce:10", 0, 1, 4711),
        ("workloads,interface,12,51ce:10", 0, 2, 12),
    ],
)
def test_key_of_a_sign(word: str, owner: int, sort: int, value: int) -> None:
    assert sign_key(read_entry(word)) == struct.pack("=IIQ", owner, sort, value)


@pytest.mark.parametrize(
    ("text", "prefix_bits", "address"),
    [
        # IPv4 addresses have 96 bits before them (RFC 4291, 2.5.5.2).
        ("10.0.0.0/8", 104, "00000000000000000000ffff0a000000"),
        ("10.1.2.3/32", 128, "00000000000000000000ffff0a010203"),
        ("fd00::/64", 64, "fd000000000000000000000000000000"),
    ],
)
def test_key_of_an_address(text: str, prefix_bits: int, address: str) -> None:
    assert address_key(text) == struct.pack("=I", prefix_bits) + bytes.fromhex(address)


def test_class_is_the_handle_as_the_kernel_counts() -> None:
    assert read_entry("workloads,interface,12,51ce:10")[3] == 0x51CE0010


def test_tunables_say_what_is_looked_up_most_precise_first() -> None:
    words = (
        "workloads,mark,0x1/0x1,51ce:10",
        "workloads,mark,0x7/0xffffffff,51ce:11",
        "workloads,mark,0x2/0x2,51ce:11",
        "workloads,cgroup,5/2,51ce:12",
        "workloads,cgroup,6/4,51ce:13",
        "host,cgroup,7/1,51ce:b",
        "workloads,source,10.0.0.0/8,51ce:14",
    )

    found = struct.unpack("=8I16I2I", tunables([read_entry(word) for word in words]))

    assert found[:8] == (0xFFFFFFFF, 2, 1, 0, 0, 0, 0, 0)
    assert found[8:24] == (4, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
    assert found[24:] == (0, 1)


@pytest.mark.parametrize(
    "words",
    [
        [f"workloads,mark,0x1/{(1 << n) | 1:#x},51ce:10" for n in range(5)],
        [f"workloads,cgroup,1/{depth},51ce:10" for depth in range(1, 10)],
    ],
    ids=["masks", "depths"],
)
def test_more_than_the_program_has_room_for_is_refused(words: list[str]) -> None:
    with pytest.raises(ValueError, match="more than"):
        tunables([read_entry(word) for word in words])


@pytest.mark.parametrize("word", ["guests,mark,1,51ce:10", "host,dscp,1,51ce:10", "host,mark,1"])
def test_entry_of_another_kind_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"entry|unpack"):
        read_entry(word)
