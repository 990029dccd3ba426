"""The control groups in memory answer as the kernel does."""

from __future__ import annotations

import pytest

from appliance.simulation.kernel import MOUNT, SimulatedKernel

VM = "/machine.slice/vm1"
FILE = f"{MOUNT}{VM}/io.max"


@pytest.fixture
def kernel() -> SimulatedKernel:
    return SimulatedKernel({VM: {"riops": "700"}}, before_write=lambda: None)


def test_write_changes_the_keys_that_it_names(kernel: SimulatedKernel) -> None:
    kernel.write(FILE, "8:0 wiops=90")

    assert kernel.read(FILE) == "8:0 rbps=max wbps=max riops=700 wiops=90\n"
    assert set(kernel.changed()) == {VM}


def test_device_without_a_limit_has_no_line(kernel: SimulatedKernel) -> None:
    kernel.write(FILE, "8:0 riops=max")

    assert kernel.read(FILE) == ""


def test_largest_number_is_no_limit_and_1_is_refused(kernel: SimulatedKernel) -> None:
    kernel.write(FILE, f"8:0 riops={2**32}")

    assert kernel.read(FILE) == ""
    with pytest.raises(OSError, match="Invalid argument"):
        kernel.write(FILE, "8:0 riops=1")


def test_reboot_and_a_group_of_the_same_name_begin_anew(kernel: SimulatedKernel) -> None:
    first = kernel.identity(f"{MOUNT}{VM}")
    kernel.write(FILE, "8:0 wiops=90")

    kernel.boot()

    assert kernel.read(FILE) == "8:0 rbps=max wbps=max riops=700 wiops=max\n"
    assert kernel.identity(f"{MOUNT}{VM}") != first
    assert kernel.changed() == {}


def test_group_of_nobody_is_not_there(kernel: SimulatedKernel) -> None:
    assert kernel.read_or_none(f"{MOUNT}/other/io.max") is None
    assert kernel.identity(f"{MOUNT}/other") is None
    with pytest.raises(PermissionError):
        kernel.write(f"{MOUNT}/other/io.max", "8:0 riops=9")
