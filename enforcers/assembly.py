"""Puts the agent's parts together for a configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enforcers import kernel_news
from enforcers.audit import AuditLog
from enforcers.clocks import Clocks, clocks_of
from enforcers.config import AgentConfig
from enforcers.device_locks import RUN_DIR, DeviceLocks, folder_for_locks
from enforcers.enforcement import Enforcement
from enforcers.executor import Executor
from enforcers.host_fs import HostFs
from enforcers.joint_post import Post
from enforcers.ledger import Ledger
from enforcers.left import LeftFile
from enforcers.mechanism import EnforcementMechanism, HostAccess
from enforcers.policy_store import PolicyStore
from enforcers.registry import MECHANISMS, Mechanisms, build_mechanisms
from enforcers.runner import SubprocessRunner
from enforcers.signature import DocumentKey
from enforcers.state_dir import StateDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What an agent runs on: kernel and programs, clocks, and the folder of all agents' locks."""

    host: HostAccess
    clocks: Clocks
    run_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a command works with.

    `is_configured` False: what the mechanisms may touch is unknown, so they only put back.
    """

    clocks: Clocks
    mechanisms: dict[str, EnforcementMechanism[Any]]
    ledger: Ledger
    locks: DeviceLocks
    store: PolicyStore
    enforcement: Enforcement
    is_configured: bool


def assemble(
    config: AgentConfig,
    *,
    dry_run: bool,
    mechanisms: Mechanisms = MECHANISMS,
    post: Post | None = None,
    machine: Machine | None = None,
) -> Parts:
    """Read the state on disk and build the parts. Raises StateError.

    By `post` mechanisms tell other hosts what this one does; None if nobody is told. `machine`
    None is this one.
    """
    return _assemble(
        config.state_dir,
        dry_run=dry_run,
        configs=config.mechanisms,
        key=config.server.document_key,
        first_retry_s=config.poll_s,
        mechanisms=mechanisms,
        machine=machine or _this_machine(post),
    )


def assemble_by_ledger(root: Path) -> Parts:
    """The parts for one restore of what a ledger tells, without any configuration.

    Raises StateError.
    """
    return _assemble(
        root,
        dry_run=False,
        configs=None,
        key=None,
        first_retry_s=0.0,
        mechanisms=MECHANISMS,
        machine=_this_machine(None),
    )


def _this_machine(post: Post | None) -> Machine:
    host_fs = HostFs()
    host = HostAccess(runner=SubprocessRunner(), host_fs=host_fs, post=post, hear=kernel_news.hear)
    return Machine(host=host, clocks=clocks_of(host_fs), run_dir=RUN_DIR)


def _assemble(
    root: Path,
    *,
    dry_run: bool,
    configs: Mapping[str, Any] | None,
    key: DocumentKey | None,
    first_retry_s: float,
    mechanisms: Mechanisms,
    machine: Machine,
) -> Parts:
    host, clocks = machine.host, machine.clocks
    host_fs = host.host_fs
    state_dir = StateDir(root=root)
    ledger = Ledger(state_dir.ledger, boot_id=clocks.boot_id)
    built = build_mechanisms(host, configs or {}, mechanisms)
    executor = Executor(
        runner=host.runner,
        host_fs=host_fs,
        monitors=host.monitors,
        ledger=ledger,
        audit=AuditLog(state_dir.audit, clocks.now),
        dry_run=dry_run,
    )
    folder = folder_for_locks(machine.run_dir, state_dir.locks)
    locks = DeviceLocks(folder, host_fs, owner=root)
    return Parts(
        clocks=clocks,
        mechanisms=built,
        ledger=ledger,
        locks=locks,
        store=PolicyStore(state_dir.policy, key=key, moment=clocks.moment()),
        enforcement=Enforcement(
            mechanisms=built,
            executor=executor,
            ledger=ledger,
            locks=locks,
            left=LeftFile(state_dir.left, boot_id=clocks.boot_id),
            first_retry_s=first_retry_s,
        ),
        is_configured=configs is not None,
    )
