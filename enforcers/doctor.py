"""The command `doctor`: what can be enforced here, what not, and what to do.

It only looks, but for `--fix`, which writes what a person agrees to.
"""

import json
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enforcers import fixing
from enforcers.assembly import Parts, assemble
from enforcers.canonical_json import to_plain
from enforcers.config import AgentConfig
from enforcers.contract import (
    ContractError,
    CorrectedModel,
    MechanismSupport,
    PolicyDocument,
    decode_report,
)
from enforcers.host_fs import HostFs
from enforcers.inspection import corrected_of
from enforcers.mechanism import (
    Desired,
    EnforcementMechanism,
    HostAccess,
    KnowsFixes,
    Obstacle,
    Plan,
    SeesObstacles,
    SeesUnclaimed,
    Unclaimed,
)
from enforcers.outcomes import FALLS_SHORT
from enforcers.registry import build_mechanisms
from enforcers.results import previews
from enforcers.runner import Runner, SubprocessRunner
from enforcers.state_dir import StateDir
from enforcers.text_table import text_table
from enforcers.version import VERSION

READY = "nothing stands in the way"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFinding:
    """A device, or a place of workloads, that the configuration names."""

    mechanism: str
    device: str
    is_ready: bool
    reason: str
    remedy: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFinding:
    """An allocation of the policy held."""

    workload: str
    resource: str
    is_ready: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything found; `unclaimed` workloads have no allocation, `troubles` are of the agent.

    `corrected` is what an agent that runs has reported of devices.
    """

    mechanisms: tuple[MechanismSupport, ...]
    devices: tuple[DeviceFinding, ...] = ()
    workloads: tuple[WorkloadFinding, ...] = ()
    unclaimed: tuple[Unclaimed, ...] = ()
    corrected: tuple[CorrectedModel, ...] = ()
    troubles: tuple[str, ...] = ()


def show_host(
    *, as_json: bool, runner: Runner | None = None, host_fs: HostFs | None = None
) -> int:
    """Print what the host supports; needs no configuration."""
    host = HostAccess(runner=runner or SubprocessRunner(), host_fs=host_fs or HostFs())
    mechanisms = build_mechanisms(host, {})
    return _show(Diagnosis(mechanisms=_support(mechanisms)), as_json=as_json)


def show_diagnosis(config: AgentConfig, *, as_json: bool) -> int:
    """Print the same, and each configured device and each workload of the policy held."""
    parts = assemble(config, dry_run=True)
    diagnosis = Diagnosis(
        mechanisms=_support(parts.mechanisms),
        devices=_devices(parts.mechanisms),
        workloads=_workloads(parts),
        unclaimed=_unclaimed(parts),
        corrected=_corrected(StateDir(root=config.state_dir)),
        troubles=tuple(_troubles(parts, StateDir(root=config.state_dir))),
    )
    return _show(diagnosis, as_json=as_json)


def fix_host(*, by_itself: bool, config: AgentConfig | None = None) -> int:
    """Offer the files that would make more enforceable; `by_itself` writes without asking."""
    host = HostAccess(runner=SubprocessRunner(), host_fs=HostFs())
    mechanisms = build_mechanisms(host, config.mechanisms if config else {})
    found = [
        fix
        for mechanism in mechanisms.values()
        if isinstance(mechanism, KnowsFixes)
        for fix in mechanism.fixes()
    ]
    agrees: Callable[[str], bool] | None = None
    if by_itself:
        agrees = _always
    elif sys.stdin.isatty():
        agrees = fixing.ask
    return fixing.offer(found, host.host_fs, agrees=agrees)


def _always(_: str) -> bool:
    return True


def _support(mechanisms: Mapping[str, EnforcementMechanism[Any]]) -> tuple[MechanismSupport, ...]:
    return tuple(mechanism.support() for mechanism in mechanisms.values())


def _devices(mechanisms: Mapping[str, EnforcementMechanism[Any]]) -> tuple[DeviceFinding, ...]:
    return tuple(
        _device(name, device, obstacle)
        for name, mechanism in mechanisms.items()
        if isinstance(mechanism, SeesObstacles)
        for device, obstacle in sorted(mechanism.obstacles().items())
    )


def _device(mechanism: str, device: str, obstacle: Obstacle | None) -> DeviceFinding:
    return DeviceFinding(
        mechanism=mechanism,
        device=device,
        is_ready=obstacle is None or not obstacle.is_total,
        reason=READY if obstacle is None else obstacle.reason,
        remedy=None if obstacle is None else obstacle.remedy,
    )


def _workloads(parts: Parts) -> tuple[WorkloadFinding, ...]:
    held = parts.store.latest
    if held is None:
        return ()
    found = [
        finding
        for device, plan in parts.enforcement.preview(held.document)
        for finding in _workloads_of(held.document, device, plan)
    ]
    return tuple(sorted(found, key=lambda finding: (finding.workload, finding.resource)))


def _unclaimed(parts: Parts) -> tuple[Unclaimed, ...]:
    held = parts.store.latest
    allocations = () if held is None else held.document.allocations
    return tuple(
        one
        for mechanism in parts.mechanisms.values()
        if isinstance(mechanism, SeesUnclaimed)
        for one in mechanism.unclaimed(allocations)
    )


def _workloads_of(
    document: PolicyDocument, device: str, plan: Plan | str
) -> list[WorkloadFinding]:
    names = {spec.name for spec in document.resources if spec.device == device}
    own = [item for item in document.allocations if item.resource in names]
    if isinstance(plan, str):
        problems = dict.fromkeys([item.id for item in own], plan)
    else:
        desired = Desired(device=device, spec=None, allocations=tuple(own))
        problems = {
            one.allocation.id: f"{one.outcome}: {one.reason}"
            for one in previews(desired, plan, {})
            if one.outcome in FALLS_SHORT
        }
    return [
        WorkloadFinding(
            workload=item.workload,
            resource=item.resource,
            is_ready=item.id not in problems,
            reason=problems.get(item.id, READY),
        )
        for item in own
    ]


def _corrected(state_dir: StateDir) -> tuple[CorrectedModel, ...]:
    """What the last report says; a look from outside finds no model wrong."""
    if state_dir.running_pid() is None:
        return ()
    try:
        return corrected_of(decode_report(state_dir.status.read_bytes()))
    except (OSError, ContractError):
        # The agent has just started, or wrote with a newer version.
        return ()


def _troubles(parts: Parts, state_dir: StateDir) -> list[str]:
    troubles = []
    if parts.ledger.lost is not None:
        troubles.append(f"{parts.ledger.lost}; run: sluice-enforcer restore")
    held = parts.store.latest
    if held is None:
        troubles.append("no policy is held; approve one on the server, and let the agent run")
    elif held.lease.is_over(parts.clocks.moment()):
        troubles.append(
            f"the lease of revision {held.document.revision} is over; "
            "does the agent run and reach the server?"
        )
    if state_dir.running_pid() is None:
        troubles.append("the agent does not run; run: systemctl start sluice-enforcer")
    return troubles


def _show(diagnosis: Diagnosis, *, as_json: bool) -> int:
    if as_json:
        head = {"agent_version": VERSION, "kernel": platform.release()}
        print(json.dumps(head | to_plain(diagnosis), indent=2))
        return 0
    print(f"sluice-enforcer {VERSION} on Linux {platform.release()}\n")
    rows = [(one.mechanism, _yes(one.supported), one.reason) for one in diagnosis.mechanisms]
    print(text_table(("mechanism", "supported", "reason"), rows))
    controls = [
        (one.mechanism, name, _yes(control.is_held), control.words)
        for one in diagnosis.mechanisms
        if one.supported and one.holds is not None
        for name, control in (
            ("reservation", one.holds.reservation),
            ("limit", one.holds.limit),
            ("shares", one.holds.shares),
        )
    ]
    _print_table(("mechanism", "control", "holds", "by"), controls)
    _print_table(
        ("device", "mechanism", "ready", "reason", "what to do"),
        [
            (one.device, one.mechanism, _yes(one.is_ready), one.reason, one.remedy or "")
            for one in diagnosis.devices
        ],
    )
    _print_table(
        ("workload", "resource", "ready", "reason"),
        [
            (one.workload, one.resource, _yes(one.is_ready), one.reason)
            for one in diagnosis.workloads
        ],
    )
    _print_table(
        ("nobody's workload", "would be meant by"),
        [(one.place, ", ".join(one.names)) for one in diagnosis.unclaimed],
    )
    for one in diagnosis.corrected:
        print(f"\n{one.words}")
    for trouble in diagnosis.troubles:
        print(f"\n{trouble}")
    return 0


def _print_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    if rows:
        print(f"\n{text_table(head, rows)}")


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
