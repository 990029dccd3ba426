"""The agent's process with 200 workloads on an uplink: CPU, its programs' included, and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.part import Effort, Part
from enforcers.contract import ComplianceReport, EnforcementState
from tests.enforcers.policies import LINK, vnic
from tests.host.agent_process import Host
from tests.host.network import network

WORKLOADS = 200
# Both as by default; the first report comes with the policy, the next one is in the window.
POLL_S = 10.0
REPORT_S = 30.0
LEASE_S = 900.0
_CPU = Asked(
    what="agent with 200 workloads, CPU of a core at a poll each 10 s",
    unit="%",
    word="<",
    bound=0.3,
)
_MEMORY = Asked(what="agent with 200 workloads, resident memory", unit="MB", word="<", bound=30)


def _measure(effort: Effort) -> list[Row]:
    with network(0) as built, TemporaryDirectory(prefix="sluice-testbed-") as folder:
        lines = [f"link add p{n} type veth peer name e{n}" for n in range(1, WORKLOADS + 1)]
        built.runner.run(["ip", "-batch", "-"], stdin="\n".join(lines) + "\n")
        running = Host(built, Path(folder))
        running.configure(poll_s=POLL_S, report_s=REPORT_S)
        running.renew_leases(LEASE_S)
        own = LINK / 2 / WORKLOADS
        running.publish(*(vnic(n, own, limit=LINK) for n in range(1, WORKLOADS + 1)))
        running.start()
        try:
            running.report(_is_enforcing)
            assert running.agent is not None
            return _costs(running.agent, effort.agent_s)
        finally:
            if running.agent is not None and running.agent.poll() is None:
                running.end(signal.SIGKILL)


def _is_enforcing(report: ComplianceReport) -> bool:
    return report.state is EnforcementState.ENFORCING


def _costs(agent: subprocess.Popen[bytes], window_s: float) -> list[Row]:
    before_s, began_s = _cpu_s(agent.pid), time.monotonic()
    time.sleep(window_s)
    cpu_s, took_s = _cpu_s(agent.pid) - before_s, time.monotonic() - began_s
    memory = {name: _memory_mb(agent.pid, name) for name in ("VmRSS", "VmHWM")}
    return [
        _CPU.row(cpu_s / took_s * 100, f"{cpu_s:.2f} s of CPU in {took_s:.0f} s"),
        _MEMORY.row(memory["VmRSS"], f"at most {memory['VmHWM']:.1f} since its start"),
    ]


def _cpu_s(pid: int) -> float:
    """CPU of a process and of its children that have ended (proc(5), fields 14 to 17)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def _memory_mb(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{name}:")]
    return int(line.split()[1]) * 1024 / 1e6


AGENT_COST = Part(name="agent-cost", asked=[_CPU, _MEMORY], measure=_measure)
