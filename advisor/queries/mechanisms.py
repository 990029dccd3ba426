"""Which control each mechanism can hold, and by what in the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from enforcers.contract import Mechanism


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """One control of one mechanism; `by` names the kernel's part, or says why there is none."""

    control: str
    is_held: bool
    by: str


CAPABILITIES: dict[Mechanism, tuple[Capability, ...]] = {
    Mechanism.TC_HTB: (
        Capability(control="reservation", is_held=True, by="HTB rate"),
        Capability(control="limit", is_held=True, by="HTB ceil"),
        Capability(control="shares", is_held=True, by="ratio of HTB rates"),
    ),
    Mechanism.CGROUP_IO: (
        Capability(control="reservation", is_held=False, by="cgroup v2 has no floor for I/O"),
        Capability(control="limit", is_held=True, by="io.max"),
        Capability(control="shares", is_held=True, by="io.weight"),
    ),
}
