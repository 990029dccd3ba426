"""Uplinks on Debian's kernels: disciplines that this machine's kernel may lack, and bonds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from tests.testbed.each_kernel import EACH_KERNEL
from tests.testbed.programs import kernel_file
from tests.testbed.storage.guest import KERNELS, Kernel, StorageGuest

pytestmark = [
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.timeout(400),
]

TRIALS = "tests.testbed.network"
FQ = "fq limit 5000 flow_limit 50 maxrate 1gbit"
SET_BY_SOMEBODY = {
    "fq": ["qdisc add dev up0 root fq"],
    "fq with options": [f"qdisc add dev up0 root handle 5: {FQ}"],
    "fq_codel": ["qdisc add dev up0 root fq_codel"],
    "fq_codel with options": ["qdisc add dev up0 root fq_codel limit 500 target 20ms flows 64"],
    "prio": ["qdisc add dev up0 root handle 1: prio", "qdisc add dev up0 parent 1:2 fq_codel"],
    "mq with fq": [
        "qdisc add dev up0 root handle 1: mq",
        "qdisc add dev up0 parent 1:1 fq",
        f"qdisc add dev up0 parent 1:2 handle 9: {FQ}",
    ],
}
LEFT_ALONE = {
    # That it is off, tc does not print.
    "fq_codel without ECN": ["qdisc add dev up0 root fq_codel noecn"],
    "filter of prio": [
        "qdisc add dev up0 root handle 1: prio",
        "filter add dev up0 parent 1: protocol ip u32 match ip dst 10.0.0.9 classid 1:3",
    ],
    "filter of fq_codel": [
        "qdisc add dev up0 root handle 1: fq_codel",
        "filter add dev up0 parent 1: protocol ip u32 match ip dst 10.0.0.9 classid 1:3",
    ],
    "classes of htb": [
        "qdisc add dev up0 root handle 1: htb default 1",
        "class add dev up0 parent 1: classid 1:1 htb rate 10mbit",
    ],
}

on_first_kernel = pytest.mark.parametrize(
    "guest", KERNELS[:1], indirect=True, ids=lambda kernel: kernel.name
)


@pytest.fixture(scope="module", params=EACH_KERNEL, ids=lambda kernel: kernel.name)
def guest(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StorageGuest]:
    """A guest of each kernel that is there."""
    kernel: Kernel = request.param
    if not modules(kernel):
        pytest.skip(f"no drivers of kernel {kernel.name}; make testbed-programs obtains them")
    with StorageGuest(kernel, tmp_path_factory.mktemp("uplinks"), clock=()) as running:
        yield running


def modules(kernel: Kernel) -> str | None:
    """The folder of the kernel's drivers, if it is there."""
    folder = kernel_file(kernel.name, "modules")
    return str(folder) if folder.is_dir() else None


@pytest.mark.parametrize("commands", SET_BY_SOMEBODY.values(), ids=SET_BY_SOMEBODY)
def test_what_somebody_set_comes_back(guest: StorageGuest, commands: list[str]) -> None:
    said = guest.run(
        f"{TRIALS}.found_discipline", modules=modules(guest.kernel), commands=commands
    )

    assert said["notes"] == []
    assert "htb 51ce: root" in said["under"][0]
    assert said["after"] == said["before"]


@on_first_kernel
@pytest.mark.parametrize("commands", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_would_not_come_back_is_left_alone(guest: StorageGuest, commands: list[str]) -> None:
    said = guest.run(
        f"{TRIALS}.found_discipline", modules=modules(guest.kernel), commands=commands
    )

    (why,) = said["notes"]
    assert "could not put back" in why
    assert said["before"] == said["under"] == said["after"]


@pytest.mark.parametrize(
    "commands", [[], [f"qdisc add dev up0 root {FQ}"]], ids=["as it is", "with fq"]
)
def test_bond_is_an_uplink_also_where_a_member_goes(
    guest: StorageGuest, commands: list[str]
) -> None:
    said = guest.run(
        f"{TRIALS}.bond",
        modules=modules(guest.kernel),
        python=os.path.realpath(sys.executable),
        commands=commands,
    )

    assert said["notes"] == []
    assert "htb 51ce: root" in said["under"][0]
    assert said["kept"][:3] == said["under"][:3]
    # Twice ten datagrams of 1000 bytes with UDP, IP and Ethernet heads, and by each member ten.
    assert said["sent_bytes"] == 20 * (1000 + 42)
    assert all(frames >= 10 for frames in said["members"])
    assert said["after"] == said["before"]


def test_what_comes_in_on_a_bond_is_told_by_whichever_member_it_comes(
    guest: StorageGuest,
) -> None:
    said = guest.run(
        f"{TRIALS}.bond_incoming",
        modules=modules(guest.kernel),
        python=os.path.realpath(sys.executable),
    )

    assert (said["left"], said["untold"]) == ([], [])
    assert said["counts"] == [10, 20]
    assert said["after"] == said["before"]


@on_first_kernel
def test_workload_at_its_limit_pings_in_40_ms_beside_its_own_bulk_traffic(
    guest: StorageGuest,
) -> None:
    seen = guest.run(f"{TRIALS}.limited_ping")

    assert seen["queue"] == "fq_codel"
    assert seen["ping_ms"] <= 40
    # fq_codel drops so early that TCP, with a window of two packets, leaves something: 0.83 Mbit/s
    # were seen.
    assert 0.75e6 <= seen["sent_bits_per_s"] <= 1.02e6
    # Where all its packets wait in one long line it is seconds.
    assert seen["long_fifo_ping_ms"] > 500
