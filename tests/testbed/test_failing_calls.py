"""Whichever system call of the agent goes wrong over a real kernel's control files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.testbed.storage.guest import KERNELS, StorageGuest
from tests.testbed.struck import CALLS, ERROR, KILL, OTHER_ERRORS

pytestmark = [
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.timeout(400),
]
FEWEST = {"write": 10, "rename": 2, "fsync": 4, "ftruncate": 1}
"""Fewer would mean that files of the agent's own, or control files, are no longer written."""


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StorageGuest]:
    """Programs wait for each other, so time is the machine's."""
    if shutil.which("strace") is None:
        pytest.skip("no strace (package strace)")
    folder = tmp_path_factory.mktemp("calls")
    with StorageGuest(KERNELS[0], folder, clock=()) as running:
        yield running


def each_call(
    guest: StorageGuest, call: str, fault: str
) -> tuple[list[str], list[dict[str, Any]]]:
    """What the kernel had after each such call, and the rest of what was there."""
    said = guest.run("tests.testbed.storage.failing_calls", call=call, fault=fault)
    assert said["other_calls"] == []
    assert len(said["calls"]) >= FEWEST[call]
    return [one.pop("kernel") for one in said["calls"]], said["calls"]


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        *((call, ERROR) for call in CALLS),
        *(pytest.param("write", fault, marks=pytest.mark.long) for fault in OTHER_ERRORS),
    ],
)
def test_control_files_are_those_of_one_policy_whichever_call_fails(
    guest: StorageGuest, call: str, fault: str
) -> None:
    kernels, others = each_call(guest, call, fault)

    assert set(kernels) <= {"old", "new"}
    assert [one for one in others if not all(one.values())] == []


@pytest.mark.parametrize("call", CALLS)
def test_each_control_is_the_old_or_the_new_one_whichever_call_the_agent_is_killed_at(
    guest: StorageGuest, call: str
) -> None:
    kernels, others = each_call(guest, call, KILL)

    # Files are written one after the other, and the next agent goes on from there.
    assert set(kernels) <= {"old", "new", "between"}
    assert [one for one in others if not all(one.values())] == []
