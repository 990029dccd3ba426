"""Enforces bandwidth of an uplink with the kernel's HTB queueing discipline."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from enforcers.contract import (
    Allocation,
    Control,
    Holds,
    MechanismSupport,
    Outcome,
    ResourceSpec,
    Unit,
)
from enforcers.executor import Execution, Executor
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Counters, Desired, HostAccess, Note, Plan, Seen
from enforcers.mechanisms.tc_htb import kernel_probe
from enforcers.mechanisms.tc_htb.classify import Kind
from enforcers.mechanisms.tc_htb.diff import build_changes, remove_root
from enforcers.mechanisms.tc_htb.leaf_queue import FIFO, FQ_CODEL
from enforcers.mechanisms.tc_htb.observed import ROOT_THING, HtbObserved, observe
from enforcers.mechanisms.tc_htb.sizing import ClassNumbers
from enforcers.mechanisms.tc_htb.tc_text import HtbClass
from enforcers.mechanisms.tc_htb.tree import Branch, Tree, wanted_tree

HOLDS = Holds(
    reservation=Control(is_held=True, words="HTB rate, beside the host's own part of the uplink"),
    limit=Control(is_held=True, words="HTB ceil"),
    shares=Control(is_held=True, words="HTB quantum: what the rates leave, divided by shares"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HtbConfig:
    """The interfaces whose transmit queues may be changed."""

    interfaces: frozenset[str] = frozenset()


class TcHtb:
    """Reservation is `rate`, limit is `ceil`, shares are `quantum`; one class per allocation."""

    name: ClassVar[str] = "tc_htb"
    Config: ClassVar[type[HtbConfig]] = HtbConfig

    def __init__(self, host: HostAccess, config: HtbConfig) -> None:
        self._runner = host.runner
        self._host_fs = host.host_fs
        self._interfaces = config.interfaces

    def support(self) -> MechanismSupport:
        return self._support

    @cached_property
    def _support(self) -> MechanismSupport:
        is_root = kernel_probe.may_change_network(self._host_fs)
        problem = kernel_probe.missing_in_kernel(self._runner, is_root=is_root)
        if problem is None and not is_root:
            problem = "the kernel can, but this process lacks CAP_NET_ADMIN; run it as root"
        return MechanismSupport(
            mechanism=self.name,
            supported=problem is None,
            reason=problem
            or f"HTB, {self._queues} and u32 work, tried in a namespace of their own",
            units=(Unit.BITS_PER_S,),
            selectors=tuple(Kind),
            holds=HOLDS,
        )

    @cached_property
    def _has_fq_codel(self) -> bool:
        is_root = kernel_probe.may_change_network(self._host_fs)
        return kernel_probe.has_fq_codel(self._runner, is_root=is_root)

    @property
    def _queues(self) -> str:
        return FQ_CODEL if self._has_fq_codel else f"{FIFO} (no {FQ_CODEL})"

    def observe(self, desired: Desired, entries: tuple[LedgerEntry, ...]) -> HtbObserved:
        return observe(self._runner, desired.device, entries)

    def plan(self, desired: Desired, observed: HtbObserved) -> Plan:
        if desired.spec is None or not desired.allocations:
            return _restoring(observed)
        problem = self._obstacle(desired.device, observed)
        if problem is not None:
            note = Note(outcome=Outcome.UNSUPPORTED, reason=problem)
            return Plan(notes={item.id: note for item in desired.allocations})
        tree, notes = self._tree(desired.spec, desired.allocations, observed)
        if tree is None:
            return Plan(notes=notes)
        return Plan(
            changes=tuple(build_changes(tree, observed)),
            wanted={
                branch.allocation.id: tree.setting(branch.numbers, branch.classid)
                for branch in tree.branches
            },
            notes=notes,
            found=() if observed.is_ours else (_entry(observed),),
        )

    def apply(self, plan: Plan, executor: Executor) -> Execution:
        return executor.run(plan.changes, plan.found)

    def read_back(self, desired: Desired, observed: HtbObserved) -> Mapping[str, Seen]:
        if desired.spec is None or not observed.is_ours:
            return {}
        tree, _ = self._tree(desired.spec, desired.allocations, observed)
        if tree is None:
            return {}
        return {
            branch.allocation.id: _seen(tree, branch, present, observed)
            for branch in tree.branches
            if (present := observed.classes.get(branch.classid)) is not None
        }

    def _tree(
        self, spec: ResourceSpec, allocations: tuple[Allocation, ...], observed: HtbObserved
    ) -> tuple[Tree | None, dict[str, Note]]:
        return wanted_tree(spec, allocations, observed, has_fq_codel=self._has_fq_codel)

    def _obstacle(self, device: str, observed: HtbObserved) -> str | None:
        if device not in self._interfaces:
            allowed = ", ".join(sorted(self._interfaces)) or "none"
            return f"interface {device!r} is not among tc_htb.interfaces (now: {allowed})"
        if device not in observed.links:
            return f"there is no interface {device!r}"
        if observed.is_ours or observed.is_kernel_default:
            return None
        root = observed.root
        what = "a discipline" if root is None else f"{root.kind} {root.handle}"
        return (
            f"{device} has {what}, which this agent did not make and could not put back; "
            f"to let it take over: tc qdisc del dev {device} root"
        )


def _restoring(observed: HtbObserved) -> Plan:
    if observed.is_ours:
        return Plan(changes=(remove_root(observed.device, observed),))
    return Plan(restored=observed.entries)


def _entry(observed: HtbObserved) -> LedgerEntry:
    return LedgerEntry(
        mechanism=TcHtb.name,
        device=observed.device,
        thing=ROOT_THING,
        found=observed.found_text,
    )


def _seen(tree: Tree, branch: Branch, present: HtbClass, observed: HtbObserved) -> Seen:
    numbers = ClassNumbers(
        rate_bits_per_s=present.rate_bits_per_s,
        ceil_bits_per_s=present.ceil_bits_per_s,
        quantum_bytes=present.quantum_bytes or branch.numbers.quantum_bytes,
        burst_bytes=present.burst_bytes,
        cburst_bytes=present.cburst_bytes,
    )
    vnic = observed.links.get(branch.match.indev or "")
    return Seen(
        thing=None if vnic is None else str(vnic.index),
        setting=tree.setting(numbers, branch.classid),
        counters=Counters(
            total=present.sent_bytes * 8.0,
            drops=present.drops,
            overlimits=present.overlimits,
            backlog_bytes=present.backlog_bytes,
        ),
    )
