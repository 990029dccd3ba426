"""What works of a host that was connected, what is still to come, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from advisor.core.duration import duration_text
from advisor.core.enumeration import listed

CLOCK_TOLERANCE = timedelta(seconds=30)
"""Samples have the host's time; hosts that differ by more cannot be compared."""
PATIENCE = timedelta(seconds=90)
"""So long after it joined nothing is wrong yet: an agent reports each 30 s."""
FRESH = timedelta(seconds=90)
_NOUNS = {
    "vm": ("VM", "VMs"),
    "container": ("container", "containers"),
    "pod": ("pod", "pods"),
    "unit": ("unit of systemd", "units of systemd"),
    "slice": ("slice", "slices"),
}
_MAKERS = {
    "libvirt": "libvirt", "qemu": "Proxmox VE", "vm": "QEMU", "docker": "Docker",
    "podman": "Podman", "lxc": "LXC", "pod": "Kubernetes", "unit": "systemd",
    "container": "containerd",
}  # fmt: skip
_HOLDS = {
    "cgroup_io": "Storage limits",
    "tc_htb": "Limits, shares and reservations of interfaces",
    "qemu_throttle": "Limits of QEMU's disks",
}
"""What a mechanism is for, in words; one that is not here is called by its name."""


class CheckState(StrEnum):
    """`LIMITED` is a remark: all else works without it."""

    DONE = "done"
    WAITING = "waiting"
    WRONG = "wrong"
    LIMITED = "limited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line: what was looked at, what was found and why, and the next step; empty if none."""

    name: str
    state: CheckState
    text: str
    next_step: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Whether the host can run a mechanism, and the agent's reason."""

    mechanism: str
    is_supported: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedHost:
    """What is known of a host that joined; times are None for what has not happened.

    `clock_ahead` None: it did not say. `workloads` counts by kind, `makers` name them.
    """

    name: str
    joined_at: datetime
    address: str
    system: str
    kernel: str
    is_service: bool
    is_observing: bool
    collects: str
    why_collects: str
    clock_ahead: timedelta | None
    last_report_at: datetime | None
    agent_version: str
    refusal: str
    last_sample_at: datetime | None
    heard_at: datetime | None
    disk_count: int
    interface_count: int
    workloads: Mapping[str, int]
    makers: frozenset[str]
    held: tuple[Held, ...]


def checklist(host: JoinedHost, *, now: datetime) -> tuple[Check, ...]:
    """All that was looked at, in the order in which it happens."""
    return (
        _joined(host, now),
        *_clock(host),
        _samples(host, now),
        _agent(host, now),
        _devices(host, now),
        _workloads(host, now),
        *(_mechanism(one) for one in host.held),
    )


def is_connected(checks: tuple[Check, ...]) -> bool:
    """Whether all is there that is waited for; a remark does not count."""
    return all(one.state in {CheckState.DONE, CheckState.LIMITED} for one in checks)


def _joined(host: JoinedHost, now: datetime) -> Check:
    what = ", ".join(filter(None, (host.system, host.kernel and f"kernel {host.kernel}")))
    come_from = f" from {host.address}" if host.address else ""
    text = f"{duration_text(now - host.joined_at)} ago{come_from}"
    return Check(name="Joined", state=CheckState.DONE, text=f"{text}: {what}" if what else text)


def _clock(host: JoinedHost) -> tuple[Check, ...]:
    if host.clock_ahead is None:
        return ()
    if abs(host.clock_ahead) <= CLOCK_TOLERANCE:
        return (Check(name="Clock", state=CheckState.DONE, text="agrees with the server's"),)
    side = "ahead of" if host.clock_ahead > timedelta(0) else "behind"
    return (
        Check(
            name="Clock",
            state=CheckState.WRONG,
            text=f"was {duration_text(abs(host.clock_ahead))} {side} the server's: its samples "
            "count at wrong times, and those too far ahead are refused",
            next_step="Set it right, as by `timedatectl set-ntp true` or `chronyc makestep`, and "
            "run the line again.",
        ),
    )


def _samples(host: JoinedHost, now: datetime) -> Check:
    who = "Telegraf" if host.collects == "telegraf" else "The agent's reader"
    why = f" ({host.why_collects})" if host.why_collects else ""
    if host.heard_at is None or host.last_sample_at is None:
        return _missing(
            host, now, name="Samples", text=f"{who}{why} has sent none yet",
            next_step=_look_at("sluice-telegraf" if host.collects == "telegraf" else "", host),
        )  # fmt: skip
    age = now - host.heard_at
    if age > FRESH:
        return Check(
            name="Samples", state=CheckState.WRONG,
            text=f"the last ones came {duration_text(age)} ago",
            next_step=_look_at("sluice-telegraf" if host.collects == "telegraf" else "", host),
        )  # fmt: skip
    return Check(
        name="Samples", state=CheckState.DONE,
        text=f"{who}{why} sends them; the last ones came {duration_text(age)} ago",
    )  # fmt: skip


def _agent(host: JoinedHost, now: datetime) -> Check:
    if host.last_report_at is None:
        return _missing(
            host, now, name="Agent", text="it has not reported yet", next_step=_look_at("", host)
        )
    age = now - host.last_report_at
    if host.refusal:
        return Check(
            name="Agent", state=CheckState.WRONG, text=host.refusal, next_step=_look_at("", host)
        )
    if age > FRESH:
        return Check(
            name="Agent", state=CheckState.WRONG,
            text=f"its last report came {duration_text(age)} ago", next_step=_look_at("", host),
        )  # fmt: skip
    does = "observes and changes nothing" if host.is_observing else "enforces what is approved"
    return Check(
        name="Agent", state=CheckState.DONE,
        text=f"version {host.agent_version} {does}; it reported {duration_text(age)} ago",
    )  # fmt: skip


def _devices(host: JoinedHost, now: datetime) -> Check:
    counted = [
        _count(number, *nouns)
        for number, nouns in (
            (host.disk_count, ("disk", "disks")),
            (host.interface_count, ("interface", "interfaces")),
        )
        if number
    ]
    if counted:
        return Check(name="Devices", state=CheckState.DONE, text=listed(counted))
    return _missing(
        host, now, name="Devices", text="none found yet",
        next_step="They are found a minute after the first samples. A container or a small VM may "
        "show no whole disk and no physical interface of its own.",
    )  # fmt: skip


def _workloads(host: JoinedHost, now: datetime) -> Check:
    counted = [
        _count(host.workloads[kind], *nouns)
        for kind, nouns in _NOUNS.items()
        if host.workloads.get(kind)
    ]
    if counted:
        names = sorted(_MAKERS[one] for one in host.makers if one in _MAKERS)
        named = f", named by {listed(names)}" if names else ""
        return Check(name="Workloads", state=CheckState.DONE, text=f"{', '.join(counted)}{named}")
    return _missing(
        host, now, name="Workloads", text="none found yet",
        next_step="A workload is found when it does I/O on a device that is known. Control groups "
        "are told apart under cgroup v2 only; VMs of libvirt also by Telegraf's inputs.libvirt.",
    )  # fmt: skip


def _mechanism(held: Held) -> Check:
    name = _HOLDS.get(held.mechanism, held.mechanism)
    if held.is_supported:
        return Check(name=name, state=CheckState.DONE, text=f"available: {held.reason}")
    return Check(
        name=name, state=CheckState.LIMITED, text=f"unavailable: {held.reason}",
        next_step="On the host, `sluice-enforcer doctor --fix` offers the file that mends it, "
        "where a file can.",
    )  # fmt: skip


def _missing(host: JoinedHost, now: datetime, *, name: str, text: str, next_step: str) -> Check:
    if now - host.joined_at < PATIENCE:
        return Check(name=name, state=CheckState.WAITING, text=text)
    return Check(name=name, state=CheckState.WRONG, text=text, next_step=next_step)


def _look_at(service: str, host: JoinedHost) -> str:
    if not host.is_service:
        return "Look at the terminal in which the line was pasted: it has to stay open."
    return f"On the host: `journalctl -n 50 -u {service or 'sluice-enforcer'}`"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
