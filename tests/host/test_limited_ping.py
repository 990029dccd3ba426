"""The own ping of a workload at a limit of 1 Mbit/s, on this kernel, in real time."""

import pytest

from tests.enforcers.rig import Rig
from tests.host.limited_ping import LIMIT_BITS_PER_S, limited_ping
from tests.host.network import Network

pytestmark = [pytest.mark.root, pytest.mark.quiet]


def test_workload_at_its_limit_pings_in_40_ms_beside_its_own_bulk_traffic(
    quiet_network: Network, host_rig: Rig
) -> None:
    seen = limited_ping(quiet_network, host_rig)

    assert seen["ping_ms"] <= 40
    # In so short a FIFO four connections of Reno lose much, and pause; with fq_codel they do not.
    assert 0.5 * LIMIT_BITS_PER_S <= seen["sent_bits_per_s"] <= 1.02 * LIMIT_BITS_PER_S
    # A FIFO of 50 ms of the link is 4.7 s of this limit, as far as TCP fills it.
    assert seen["long_fifo_ping_ms"] > 500
