"""The agent's enforcement over a kernel in memory and a state directory on disk."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from enforcers.audit import AuditLog
from enforcers.device_locks import DeviceLocks
from enforcers.enforcement import Enforcement
from enforcers.errors import CommandError
from enforcers.executor import Executor
from enforcers.host_fs import HostFs
from enforcers.joint_post import Post
from enforcers.ledger import Ledger
from enforcers.left import LeftFile
from enforcers.mechanism import Desired, EnforcementMechanism, HostAccess, Plan
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.tc_htb.mechanism import HtbConfig
from enforcers.mechanisms.tc_htb.program import LOADER
from enforcers.qmp import Monitors, SocketMonitors
from enforcers.registry import MECHANISMS, Mechanisms, build_mechanisms
from enforcers.runner import Runner
from tests.enforcers.policies import NOON


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """All parts of one agent process."""

    directory: Path
    ledger: Ledger
    locks: DeviceLocks
    executor: Executor
    mechanisms: dict[str, EnforcementMechanism[Any]]
    enforcement: Enforcement

    def plan(self, mechanism: str, desired: Desired) -> Plan:
        """What would be done."""
        plugin = self.mechanisms[mechanism]
        observed = plugin.observe(desired, self.ledger.of(mechanism, desired.device))
        return plugin.plan(desired, observed)

    def apply(self, mechanism: str, desired: Desired) -> Plan:
        """Do it, and give the plan that is left, which should be empty."""
        plan = self.plan(mechanism, desired)
        execution = self.mechanisms[mechanism].apply(plan, self.executor)
        assert execution.error is None
        return self.plan(mechanism, desired)

    def audit(self) -> list[dict[str, Any]]:
        """All audit lines."""
        path = self.directory / "audit.jsonl"
        return (
            [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        )


@dataclass(frozen=True, slots=True)
class WithoutLibbpf:
    """A host on which no BPF program can be loaded."""

    runner: Runner

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        if argv == LOADER:
            raise CommandError(argv, "there is no libbpf.so.1")
        return self.runner.run(argv, stdin=stdin)


def host_of_root(root: Path) -> HostFs:
    """A host without any file but the one that says that this process may do everything."""
    status = root / "proc/self/status"
    status.parent.mkdir(parents=True, exist_ok=True)
    status.write_text("Name:\tpython3\nCapEff:\t000001ffffffffff\n")
    return HostFs(root)


def start_rig(
    directory: Path,
    runner: Runner,
    *,
    host_fs: HostFs | None = None,
    boot_id: str = "boot-1",
    dry_run: bool = False,
    interfaces: frozenset[str] = frozenset({"up0"}),
    ingress: frozenset[str] = frozenset(),
    by_u32: bool = True,
    host_kinds: frozenset[str] = frozenset({"off"}),
    devices: frozenset[str] = frozenset({"8:0"}),
    more: Mechanisms = (),
    configs: Mapping[str, Any] | None = None,
    run_dir: Path | None = None,
    monitors: Monitors | None = None,
    post: Post | None = None,
) -> Rig:
    """Start as the agent does, from whatever is in the directory.

    `by_u32` is a host without libbpf: classes are then numbered in the order of the policy.
    The host's own traffic is one class, which an empty `host_kinds` divides as by default.
    """
    files = host_fs or host_of_root(directory / "host")
    ledger = Ledger(directory / "ledger.json", boot_id=boot_id)
    runner = WithoutLibbpf(runner) if by_u32 else runner
    host = HostAccess(
        runner=runner, host_fs=files, monitors=monitors or SocketMonitors(), post=post
    )
    mechanisms = build_mechanisms(
        host,
        {
            "tc_htb": HtbConfig(interfaces=interfaces, ingress=ingress, host_kinds=host_kinds),
            "cgroup_io": CgroupIoConfig(subtrees=frozenset({"/machine.slice"}), devices=devices),
            **(configs or {}),
        },
        (*MECHANISMS, *more),
    )
    executor = Executor(
        runner=runner,
        host_fs=files,
        monitors=host.monitors,
        ledger=ledger,
        audit=AuditLog(directory / "audit.jsonl", lambda: NOON),
        dry_run=dry_run,
    )
    locks = DeviceLocks(
        run_dir or Path(mkdtemp(dir=directory, prefix="run-")), files, owner=directory
    )
    enforcement = Enforcement(
        mechanisms=mechanisms,
        executor=executor,
        ledger=ledger,
        locks=locks,
        left=LeftFile(directory / "left.json", boot_id=boot_id),
        first_retry_s=10.0,
    )
    return Rig(
        directory=directory,
        ledger=ledger,
        locks=locks,
        executor=executor,
        mechanisms=mechanisms,
        enforcement=enforcement,
    )
