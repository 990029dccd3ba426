"""How packets find their classes on the guest's kernel, by the BPF program."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from enforcers import runner
from enforcers.contract import Selector
from tests.enforcers.policies import desired, nothing, uplink, vnic
from tests.enforcers.rig import start_rig
from tests.host.network import SINK_ADDRESS, network

COUNT = 20
# Smaller than a datagram of 1000 bytes with its headers.
FRAME_BYTES = 1040
# While a guest waits for the host's files, its time runs off.
DEADLINE_S = 900.0


def run() -> dict[str, Any]:
    """The datagrams of each workload, and whether all is as it was found."""
    runner.TIMEOUT_S = DEADLINE_S
    with network(2) as built, TemporaryDirectory() as folder:
        rig = start_rig(Path(folder), built.runner, by_u32=False)
        mechanism = rig.mechanisms["tc_htb"]
        network_of_2 = Selector(kind="source_address", value="10.77.2.0/24")
        wanted = desired(uplink(), vnic(1, 10e6), vnic(2, selector=network_of_2))
        before = built.settings()
        left = rig.apply("tc_htb", wanted).changes
        for number in built.numbers:
            built.send_datagrams(number, SINK_ADDRESS, COUNT)
        deadline_s = time.monotonic() + DEADLINE_S
        while True:
            seen = mechanism.read_back(wanted, mechanism.observe(wanted, rig.ledger.entries()))
            counts = {
                key: int(one.counters.total / 8 / FRAME_BYTES)
                for key, one in seen.items()
                if one.counters is not None
            }
            if min(counts.values()) >= COUNT or time.monotonic() > deadline_s:
                break
            time.sleep(0.1)
        rig.apply("tc_htb", nothing("up0"))
        return {
            "support": mechanism.support().reason,
            "left": [str(change) for change in left],
            "counts": counts,
            "is as found": built.settings() == before,
        }
