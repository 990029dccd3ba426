"""A new version of the agent takes over a limit while its workload has I/O in flight all along."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from enforcers.mechanisms.cgroup_io import io_text
from tests.testbed.storage.agent import Service, Wish, configure, listening
from tests.testbed.storage.groups import counts, folder, make_groups
from tests.testbed.storage.load import Load, counted, running
from tests.testbed.storage.null_disk import NAME, PLACE, make_disk


def run(*, capacity_iops: float, limit_iops: float, changes: int) -> dict[str, Any]:
    """What became of each I/O, the rate meanwhile, and the reads open where no agent was.

    `is_audit_same`: no change left a line in the audit log.
    """
    number = make_disk(iops=capacity_iops)
    limited, other = make_groups(2)
    service = Service()
    with listening(service) as port:
        configuration = configure(
            Path(mkdtemp(prefix="agent-")), port, {"capacity_is_measured": [NAME]}
        )
        service.publish(Wish(group=limited, limit=limit_iops), capacity_iops=capacity_iops)
        agent = _start(configuration)
        service.wait_until_enforced()
        audit = configuration.parent / "state/audit.jsonl"
        first, between = audit.read_text(), []
        with (
            running(Load(group=other, disk=PLACE)),
            counted(Load(group=limited, disk=PLACE)) as tally,
        ):
            time.sleep(4)
            before = counts([limited], number)
            for _ in range(changes):
                _end(agent, signal.SIGUSR1)
                between.append(_reads_open(limited, number))
                service.reports.clear()
                agent = _start(configuration)
                service.wait_until_enforced()
                time.sleep(4)
            iops = counts([limited], number).rates(before)[limited]
        is_audit_same = audit.read_text() == first
        _end(agent, signal.SIGTERM)
    return {
        "iops": iops,
        "between": between,
        "is_audit_same": is_audit_same,
        "submitted": tally.submitted,
        "ended": tally.ended,
        "failed": tally.failed,
    }


def _reads_open(group: str, number: str) -> float:
    """Infinite where the group has no limit."""
    values = io_text.parse_io_max((folder(group) / "io.max").read_text(), number)
    return float(values["riops"].replace("max", "inf"))


def _start(configuration: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "enforcers", "run", "--config", configuration])


def _end(agent: subprocess.Popen[bytes], number: signal.Signals) -> None:
    agent.send_signal(number)
    agent.wait()
