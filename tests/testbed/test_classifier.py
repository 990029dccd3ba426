"""The BPF program on the kernels of Debian 13: that they take it, and that packets are told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from enforcers.mechanisms.tc_htb.program import OBJECT
from tests.testbed.each_kernel import EACH_KERNEL
from tests.testbed.network.classify import COUNT
from tests.testbed.programs import kernel_file
from tests.testbed.storage.guest import Kernel, StorageGuest

pytestmark = [
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.timeout(400),
]


@pytest.fixture(scope="module", params=EACH_KERNEL, ids=lambda kernel: kernel.name)
def guest(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StorageGuest]:
    """A guest of each kernel that is there."""
    kernel: Kernel = request.param
    if not kernel_file(kernel.name, "vmlinuz").exists():
        pytest.skip(f"no kernel {kernel.name}; make testbed-programs obtains it")
    with StorageGuest(kernel, tmp_path_factory.mktemp("classifier")) as running:
        yield running


@pytest.mark.skipif(not OBJECT.exists(), reason="scripts/bpf has not built the program")
def test_packets_find_their_classes_on_each_kernel(guest: StorageGuest) -> None:
    said = guest.run("tests.testbed.network.classify")

    assert said.pop("support").startswith("HTB, fq_codel and BPF work, tried in a namespace")
    assert said == {
        "left": [],
        "counts": {"net-1": COUNT, "net-2": COUNT},
        "is as found": True,
    }
