"""The agent's process with 200 workloads on an uplink: CPU, its programs' included, and memory.

With pools that have shares it looks twice a second whose packets wait. It runs as by its Debian
package, with the interpreter of the system where there is one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.part import Effort, Part
from enforcers.contract import Allocation, ComplianceReport, EnforcementState, Pool
from tests.enforcers.policies import LINK, member, pool, vnic
from tests.host.agent_process import CHECKOUT, Host
from tests.host.network import network

WORKLOADS, POOLS = 200, 10
# Both as by default; the first report comes with the policy, the next one is in the window.
POLL_S = 10.0
REPORT_S = 30.0
LEASE_S = 900.0
# It looks twice a second, so in that time as often as a round comes in 200 s.
POOLS_S = 20.0
PACKAGED = Path("/usr/bin/python3")
_CPU = Asked(
    what="agent with 200 workloads, CPU of a core at a poll each 10 s",
    unit="%",
    word="<",
    bound=0.3,
)
_MEMORY = Asked(what="agent with 200 workloads, resident memory", unit="MB", word="<", bound=30)
_MEMORY_TLS = Asked(
    what="agent with 200 workloads, resident memory over HTTPS", unit="MB", word="<", bound=30
)
TLS_S = 5.0
_POOLS = Asked(
    what="agent with 200 workloads in 10 pools with shares, CPU of a core",
    unit="%",
    word="<",
    bound=3,
)


def _measure(effort: Effort) -> list[Row]:
    return [*_alone(effort), _over_https(), _in_pools()]


def _alone(effort: Effort) -> list[Row]:
    with _running(*_everybody()) as agent:
        return _costs(agent, effort.agent_s)


def _over_https() -> Row:
    with _running(*_everybody(), is_tls=True) as agent:
        # Its second round comes with a connection of its own, as each later one does.
        time.sleep(POLL_S + TLS_S)
        return _MEMORY_TLS.row(_memory_mb(agent.pid, "VmRSS"), _highest(agent))


def _everybody() -> list[Allocation]:
    own = LINK / 2 / WORKLOADS
    return [vnic(n, own, limit=LINK) for n in range(1, WORKLOADS + 1)]


def _in_pools() -> Row:
    """Nobody sends, so what is counted is the looks."""
    pools = tuple(
        pool(id=f"pool-{n}", name=f"p{n}", reservation=0.0, limit=None, shares=100 + n)
        for n in range(POOLS)
    )
    members = (member(n, pool=f"pool-{n % POOLS}") for n in range(1, WORKLOADS + 1))
    with _running(*members, pools=pools) as agent:
        cpu_s, took_s = _cpu_in(agent, POOLS_S)
    return _POOLS.row(cpu_s / took_s * 100, f"{cpu_s:.2f} s of CPU in {took_s:.0f} s")


@contextmanager
def _running(
    *allocations: Allocation, pools: tuple[Pool, ...] = (), is_tls: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    with network(0) as built, TemporaryDirectory(prefix="sluice-testbed-") as folder:
        lines = [f"link add p{n} type veth peer name e{n}" for n in range(1, WORKLOADS + 1)]
        built.runner.run(["ip", "-batch", "-"], stdin="\n".join(lines) + "\n")
        running = Host(built, Path(folder), is_tls=is_tls)
        running.python = _as_packaged()
        running.configure(poll_s=POLL_S, report_s=REPORT_S)
        running.renew_leases(LEASE_S)
        running.publish(*allocations, pools=pools)
        running.start()
        try:
            running.report(_is_enforcing)
            assert running.agent is not None
            yield running.agent
        finally:
            if running.agent is not None and running.agent.poll() is None:
                running.end(signal.SIGKILL)


def _as_packaged() -> list[str]:
    """As `enforcers/debian/sluice-enforcer` begins, with the modules of this checkout."""
    python = str(PACKAGED) if PACKAGED.exists() else sys.executable
    begin = f"import sys; sys.path.insert(0, {str(CHECKOUT)!r}); from enforcers.entry import main"
    return [python, "-IS", "-c", f"{begin}; sys.exit(main())"]


def _is_enforcing(report: ComplianceReport) -> bool:
    return report.state is EnforcementState.ENFORCING


def _costs(agent: subprocess.Popen[bytes], window_s: float) -> list[Row]:
    cpu_s, took_s = _cpu_in(agent, window_s)
    return [
        _CPU.row(cpu_s / took_s * 100, f"{cpu_s:.2f} s of CPU in {took_s:.0f} s"),
        _MEMORY.row(_memory_mb(agent.pid, "VmRSS"), _highest(agent)),
    ]


def _highest(agent: subprocess.Popen[bytes]) -> str:
    return f"at most {_memory_mb(agent.pid, 'VmHWM'):.1f} since its start"


def _cpu_in(agent: subprocess.Popen[bytes], window_s: float) -> tuple[float, float]:
    """CPU in the window, and how long the window was."""
    before_s, began_s = _cpu_s(agent.pid), time.monotonic()
    time.sleep(window_s)
    return _cpu_s(agent.pid) - before_s, time.monotonic() - began_s


def _cpu_s(pid: int) -> float:
    """CPU of a process and of its children that have ended (proc(5), fields 14 to 17)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def _memory_mb(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{name}:")]
    return int(line.split()[1]) * 1024 / 1e6


AGENT_COST = Part(name="agent-cost", asked=[_CPU, _MEMORY, _MEMORY_TLS, _POOLS], measure=_measure)
