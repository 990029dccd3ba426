"""Enforces bandwidth of an uplink with the kernel's HTB queueing discipline."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from enforcers.contract import (
    POOL,
    Control,
    ControlKind,
    Holds,
    MechanismSupport,
    Outcome,
    ResourceSpec,
    Unit,
)
from enforcers.errors import CommandError, ValueRefused
from enforcers.executor import Execution, Executor
from enforcers.fix import Fix
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Desired, HostAccess, Note, Obstacle, Plan, Seen
from enforcers.mechanisms.tc_htb import kernel_probe
from enforcers.mechanisms.tc_htb.cgroup_places import cgroup_places
from enforcers.mechanisms.tc_htb.classify import BY_U32, Kind
from enforcers.mechanisms.tc_htb.diff import build_changes, table_in_force
from enforcers.mechanisms.tc_htb.fit import host_limit_problem
from enforcers.mechanisms.tc_htb.fixes import module_fixes, unit_fixes
from enforcers.mechanisms.tc_htb.header_matches import traffic_kinds
from enforcers.mechanisms.tc_htb.host_kinds import read_kinds
from enforcers.mechanisms.tc_htb.incoming import IFB, THING, IncomingLooks, our_ifbs
from enforcers.mechanisms.tc_htb.leaf_queue import FIFO, FQ_CODEL
from enforcers.mechanisms.tc_htb.observed import (
    ROOT_THING,
    HtbObserved,
    Link,
    Looks,
    find_marked,
    is_our_root,
)
from enforcers.mechanisms.tc_htb.program import find_classifier
from enforcers.mechanisms.tc_htb.restore import (
    not_put_back,
    outdated,
    restoring,
    restoring_elsewhere,
)
from enforcers.mechanisms.tc_htb.shape_incoming import (
    in_the_way,
    not_shaped,
    restoring_incoming,
    shaping,
)
from enforcers.mechanisms.tc_htb.shown import Shown, above, counters_of, shown_by
from enforcers.mechanisms.tc_htb.signs import CgroupPlace, Classifier, Table
from enforcers.mechanisms.tc_htb.tree import Tree
from enforcers.mechanisms.tc_htb.trial import Trials
from enforcers.mechanisms.tc_htb.turn_changes import both_trees, pools_with_turns, turns_of
from enforcers.mechanisms.tc_htb.turns import Waiting
from enforcers.mechanisms.tc_htb.wanted import wanted_tree
from enforcers.retry import Retries

FIRST_TRY_AGAIN_S = 10.0
# All that a tree without an entry can be replaced by.
KERNEL_DEFAULT = "the kernel's default"

HOLDS = Holds(
    reservation=Control(is_held=True, words="HTB rate, beside the host's own part of the uplink"),
    limit=Control(is_held=True, words="HTB ceil"),
    shares=Control(is_held=True, words="HTB quantum: what the rates leave, divided by shares"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HtbConfig:
    """The interfaces whose transmit queues may be changed, those of them on which what comes in
    is shaped too, and how the host's own traffic is told apart (`host_kinds.read_kinds`).
    """

    interfaces: frozenset[str] = frozenset()
    ingress: frozenset[str] = frozenset()
    host_kinds: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.ingress - self.interfaces:
            rule = "may name only what tc_htb.interfaces names"
            raise ValueRefused("ingress", sorted(self.ingress), rule)
        try:
            read_kinds(self.host_kinds)
        except ValueError as error:
            raise ValueRefused("host_kinds", sorted(self.host_kinds), str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """The last plan for an interface, and what its look showed of each allocation.

    In most passes all is as it was, and nothing is planned anew.
    """

    desired: Desired
    observed: HtbObserved
    idle: Sequence[frozenset[str]]
    plan: Plan
    shown: Mapping[str, Shown]


class TcHtb:
    """Reservation is `rate`, limit is `ceil`, shares are `quantum`; one class per allocation."""

    name: ClassVar[str] = "tc_htb"
    Config: ClassVar[type[HtbConfig]] = HtbConfig

    def __init__(self, host: HostAccess, config: HtbConfig) -> None:
        self._runner = host.runner
        self._host_fs = host.host_fs
        self._interfaces = config.interfaces
        self._ingress = config.ingress
        self._kinds = traffic_kinds(read_kinds(config.host_kinds))
        self._clock_s = host.clock_s
        self._tried: MechanismSupport | None = None
        self._has_tried_ifb = False
        self._ifb_problem: str | None = None
        self._tries = Retries(first_s=FIRST_TRY_AGAIN_S)
        self._looks = Looks(host)
        self._incoming = IncomingLooks(host.runner, self._looks)
        self._trials = Trials(host.runner, host.host_fs, host.clock_s)
        self._planned: dict[str, _Planned] = {}
        # By device, that of what comes in too, which members of pools want their turns.
        self._waiting = defaultdict[str, Waiting](Waiting)
        self._noted: dict[str, tuple[LedgerEntry, ...]] = {}
        # By device what its BPF filter looks up and shall look up; the kernel shows the name only.
        self._tables: dict[str, dict[str, Table]] = {}

    def support(self) -> MechanismSupport:
        """A kernel that could once still can; one that could not may only have been busy."""
        tried, now_s = self._tried, self._clock_s()
        is_waiting = self._tries.waiting(self.name, None, now_s) is not None
        if tried is None or not (tried.supported or is_waiting):
            tried = self._tried = self._try_out()
            if not tried.supported:
                self._tries.failed(self.name, None, now_s, error=tried.reason)
        return tried

    def _try_out(self) -> MechanismSupport:
        is_privileged = kernel_probe.may_make_namespaces(self._host_fs)
        problem = kernel_probe.missing_in_kernel(self._runner, is_privileged=is_privileged)
        if problem is None and not kernel_probe.may_change_network(self._host_fs):
            problem = "the kernel can, but this process lacks CAP_NET_ADMIN; run it as root"
        return MechanismSupport(
            mechanism=self.name,
            supported=problem is None,
            reason=problem
            or f"HTB, {self._queues} and {self._filters} work, tried in a namespace of their own; "
            + self._incoming_support(),
            units=(Unit.BITS_PER_S,),
            selectors=(*self._selectors(problem), POOL),
            holds=HOLDS,
        )

    def _selectors(self, problem: str | None) -> tuple[str, ...]:
        return BY_U32 if problem or self._lacks_program else tuple(Kind)

    def _incoming_support(self) -> str:
        """To try it loads modules, and with one of them the kernel makes devices on the host."""
        if not self._ingress:
            return "what comes in is left alone (tc_htb.ingress)"
        return self._why_no_ifb or "ifb, for what comes in, works too"

    @cached_property
    def _has_fq_codel(self) -> bool:
        is_privileged = kernel_probe.may_make_namespaces(self._host_fs)
        return kernel_probe.has_fq_codel(self._runner, is_privileged=is_privileged)

    @property
    def _why_no_ifb(self) -> str | None:
        """Asked again like `support`: a kernel that could not may only have been busy."""
        now_s = self._clock_s()
        is_waiting = self._tries.waiting(IFB, None, now_s) is not None
        works = self._has_tried_ifb and self._ifb_problem is None
        if not works and not is_waiting:
            is_privileged = kernel_probe.may_make_namespaces(self._host_fs)
            why = kernel_probe.why_no_ifb(self._runner, is_privileged=is_privileged)
            self._ifb_problem, self._has_tried_ifb = why, True
            if why is not None:
                self._tries.failed(IFB, None, now_s, error=why)
        return self._ifb_problem

    @property
    def _queues(self) -> str:
        return FQ_CODEL if self._has_fq_codel else f"{FIFO} (no {FQ_CODEL})"

    @cached_property
    def _classifier(self) -> Classifier:
        """Looked for once: another way to tell packets gives every class another number."""
        is_privileged = kernel_probe.may_make_namespaces(self._host_fs)
        return find_classifier(self._runner, is_privileged=is_privileged)

    @property
    def _filters(self) -> str:
        return f"u32 (no BPF: {self._classifier.why_not})" if self._lacks_program else "BPF"

    @property
    def _lacks_program(self) -> bool:
        return self._classifier.program is None

    def observe(self, desired: Desired, entries: tuple[LedgerEntry, ...]) -> HtbObserved:
        roots = tuple(entry for entry in entries if entry.thing == ROOT_THING)
        others = tuple(entry for entry in entries if entry.thing != ROOT_THING)
        observed = self._looks.at(desired.device, roots or others)
        observed = replace(observed, entries=roots)
        tables = self._tables.get(observed.device, {})
        observed = replace(
            observed,
            cgroups=self._cgroups(desired),
            table=tables.get(table_in_force(observed) or ""),
            incoming=self._incoming.at(
                observed, others, vnics=_vnics(desired), is_wanted=desired.device in self._ingress
            ),
        )
        if not desired.allocations or desired.device not in self._interfaces:
            return observed
        return self._tried_out(observed)

    def _cgroups(self, desired: Desired) -> dict[str, CgroupPlace]:
        selectors = [item.selector for item in desired.allocations]
        paths = {one.value for one in selectors if one.kind == Kind.CGROUP}
        paths |= {path for kind in self._kinds for path in kind.cgroups}
        return cgroup_places(self._host_fs, paths) if paths else {}

    def _tried_out(self, observed: HtbObserved) -> HtbObserved:
        """With the answer whether what somebody set there would come back."""
        if observed.noted_as is not None or observed.is_ours or observed.is_kernel_default:
            return observed
        why_lost = self._trials.why_not(observed.device, observed.qdiscs)
        return replace(observed, why_lost=why_lost)

    def plan(self, desired: Desired, observed: HtbObserved) -> Plan:
        return self._plan_once(desired, observed).plan

    def _plan_once(self, desired: Desired, observed: HtbObserved) -> _Planned:
        planned = self._planned.get(desired.device)
        asked = (desired, observed, self._idle(observed))
        if planned is None or (planned.desired, planned.observed, planned.idle) != asked:
            planned = self._planned[desired.device] = self._plan(desired, observed)
        return planned

    def _idle(self, observed: HtbObserved) -> Sequence[frozenset[str]]:
        """Of what goes out, and of what comes in."""
        return [self._waiting[tree.device].idle for tree in both_trees(observed)]

    def _plan(self, desired: Desired, observed: HtbObserved) -> _Planned:
        plan, tree = self._plan_with_tree(desired, observed)
        is_shown = tree is not None and observed.is_ours
        shown = dict(shown_by(tree, observed)) if tree is not None and is_shown else {}
        return _Planned(
            desired=desired,
            observed=observed,
            idle=self._idle(observed),
            plan=plan,
            shown=shown,
        )

    def _plan_with_tree(self, desired: Desired, observed: HtbObserved) -> tuple[Plan, Tree | None]:
        back = restoring_incoming(observed)
        if observed.noted_as is not None:
            return _both(restoring_elsewhere(desired, observed, observed.noted_as), back), None
        if desired.spec is None or not desired.allocations:
            return _both(restoring(observed), back), None
        problem = self._obstacle(desired.device, observed)
        if problem is not None:
            note = Note(outcome=Outcome.UNSUPPORTED, reason=problem)
            # An interface that may not be touched any more is put back.
            notes = {item.id: note for item in desired.allocations}
            return replace(_both(restoring(observed), back), notes=notes), None
        tree, notes = self._tree(desired.spec, desired, observed)
        if tree is None:
            return Plan(notes=notes), None
        known = [table for table in (observed.table, tree.table) if table is not None]
        self._tables[desired.device] = {table.name: table for table in known}
        plan = Plan(
            changes=tuple(build_changes(tree, observed)),
            wanted={
                item.id: tree.setting(numbers, classid, above=above(tree, item, {}))
                for item, classid, numbers, _ in tree.classes()
            },
            notes=notes,
            shortfalls=_shortfalls(desired.spec, tree),
            found=() if observed.is_ours else (_entry(observed),),
            restored=outdated(observed),
        )
        return _both(plan, self._plan_incoming(desired.spec, tree, observed)), tree

    def _plan_incoming(self, spec: ResourceSpec, outgoing: Tree, observed: HtbObserved) -> Plan:
        if observed.device not in self._ingress:
            return restoring_incoming(observed)
        why = self._why_no_ifb or in_the_way(observed)
        if why is not None:
            return not_shaped(outgoing, observed, why)
        idle = self._idle(observed)[-1]
        return shaping(spec, outgoing, observed, idle=idle, fq_codel=self._has_fq_codel)

    def apply(self, plan: Plan, executor: Executor) -> Execution:
        executor.release(plan.restored)
        try:
            return executor.run(plan.changes, plan.found)
        finally:
            self._looks.forget()

    def follow(
        self,
        desired: Desired,
        entries: tuple[LedgerEntry, ...],
        executor: Executor,
        clock_s: Callable[[], float],  # noqa: ARG002  (part of the protocol)
    ) -> None:
        """Give the turns of pools with shares to those of their members whose packets wait."""
        if not pools_with_turns(desired):
            return
        self._noted[desired.device] = entries
        observed = self.observe(desired, entries)
        for tree in both_trees(observed):
            self._waiting[tree.device].look(tree.counters)
        executor.adjust_together(turns_of(desired, self.plan(desired, observed)))

    def leave(self, desired: Desired, executor: Executor) -> None:
        """Each member keeps its part of its pool's turn, whoever sends."""
        entries = self._noted.get(desired.device)
        if not pools_with_turns(desired) or entries is None:
            return
        observed = self.observe(desired, entries)
        for tree in both_trees(observed):
            self._waiting.pop(tree.device, None)
        executor.adjust_together(turns_of(desired, self.plan(desired, observed)))

    def left(self, desired: Desired) -> Mapping[str, str]:  # noqa: ARG002
        """Turns begin anew with whoever follows."""
        return {}

    def find_marked(self) -> tuple[LedgerEntry, ...]:
        """A tree of this agent's has taken the place of what the kernel sets up by itself.

        Its ifb devices are called by the interfaces for which it made them.
        """
        links = self._looks.all_links()
        ifbs = our_ifbs(links)
        roots = [links[name] for name in find_marked(self._runner) if name in links.keys() - ifbs]
        return (
            *(self._marked(link.name, ROOT_THING, KERNEL_DEFAULT, link) for link in roots),
            *(
                self._marked(name if uplink is None else uplink.name, THING, "nothing", uplink)
                for name, uplink in ifbs.items()
            ),
        )

    def _marked(self, device: str, thing: str, found: str, link: Link | None) -> LedgerEntry:
        identity = None if link is None else link.identity
        return LedgerEntry(
            mechanism=self.name, device=device, thing=thing, found=found, identity=identity
        )

    def obstacles(self) -> Mapping[str, Obstacle | None]:
        return {device: self._obstacle_of(device) for device in self._interfaces}

    def fixes(self) -> tuple[Fix, ...]:
        is_privileged = kernel_probe.may_make_namespaces(self._host_fs)
        lacks = kernel_probe.lacks_option(self._runner, is_privileged=is_privileged)
        of_unit = unit_fixes(self._host_fs) if self._interfaces else ()
        return (*(module_fixes(self._host_fs) if lacks else ()), *of_unit)

    def read_back(self, desired: Desired, observed: HtbObserved) -> Mapping[str, Seen]:
        shown = self._plan_once(desired, observed).shown
        return {
            key: Seen(
                thing=one.thing,
                setting=one.setting,
                counters=counters_of(one, observed.counters),
            )
            for key, one in shown.items()
        }

    def _tree(
        self, spec: ResourceSpec, desired: Desired, observed: HtbObserved
    ) -> tuple[Tree | None, dict[str, Note]]:
        return wanted_tree(
            spec,
            desired.allocations,
            observed,
            pools=desired.pools,
            idle=self._idle(observed)[0],
            kinds=self._kinds,
            has_fq_codel=self._has_fq_codel,
            classifier=self._classifier,
        )

    def _obstacle_of(self, device: str) -> Obstacle | None:
        """As `_obstacle` of a policy, of an interface that may be changed."""
        try:
            observed = self._tried_out(self.observe(_nothing(device), ()))
        except (CommandError, ValueError) as error:
            return Obstacle(reason=str(error), remedy="install iproute2")
        if device not in observed.links:
            return Obstacle(
                reason="there is no such interface",
                remedy="name one of those that `ip link` shows in tc_htb.interfaces",
            )
        root = observed.root
        reason = not_put_back(observed)
        if reason is None or (root is not None and is_our_root(root)):
            return self._unshaped(observed) or self._untold_kinds()
        return Obstacle(reason=f"it has {reason}", remedy=f"tc qdisc del dev {device} root")

    def _unshaped(self, observed: HtbObserved) -> Obstacle | None:
        """Why what comes in is not shaped, though that is configured."""
        if observed.device not in self._ingress:
            return None
        why = self._why_no_ifb or in_the_way(observed)
        if why is None:
            return None
        return Obstacle(
            reason=f"what comes in is not shaped: {why}",
            remedy=f"mend that, or take {observed.device} out of tc_htb.ingress",
            is_total=False,
        )

    def _untold_kinds(self) -> Obstacle | None:
        untold = [item.kind for item in self._kinds if item.signs or item.cgroups]
        if not untold or not self._lacks_program:
            return None
        return Obstacle(
            reason=f"{', '.join(untold)}: not told by mark or control group without BPF "
            f"({self._classifier.why_not})",
            remedy="mend that, or name them by ports, addresses or DSCP in tc_htb.host_kinds",
            is_total=False,
        )

    def _obstacle(self, device: str, observed: HtbObserved) -> str | None:
        if device not in self._interfaces:
            allowed = ", ".join(sorted(self._interfaces)) or "none"
            return f"interface {device!r} is not among tc_htb.interfaces (now: {allowed})"
        if device not in observed.links:
            return f"there is no interface {device!r}"
        reason = not_put_back(observed)
        if reason is None:
            return None
        return f"{device} has {reason}; to let it take over: tc qdisc del dev {device} root"


def _nothing(device: str) -> Desired:
    return Desired(device=device, spec=None, allocations=())


def _vnics(desired: Desired) -> frozenset[str]:
    selectors = [item.selector for item in desired.allocations]
    return frozenset(one.value for one in selectors if one.kind == Kind.VNIC)


def _both(outgoing: Plan, incoming: Plan) -> Plan:
    return replace(
        outgoing,
        changes=(*outgoing.changes, *incoming.changes),
        shortfalls={
            key: {**incoming.shortfalls.get(key, {}), **outgoing.shortfalls.get(key, {})}
            for key in {**outgoing.shortfalls, **incoming.shortfalls}
        },
        found=(*outgoing.found, *incoming.found),
        restored=(*outgoing.restored, *incoming.restored),
    )


def _entry(observed: HtbObserved) -> LedgerEntry:
    return LedgerEntry(
        mechanism=TcHtb.name,
        device=observed.device,
        thing=ROOT_THING,
        found=observed.found_text,
        identity=observed.links[observed.device].identity,
    )


def _shortfalls(spec: ResourceSpec, tree: Tree) -> dict[str, dict[ControlKind, Note]]:
    host = tree.host.allocation
    problem = host_limit_problem(spec, host)
    if host is None or problem is None:
        return {}
    return {host.id: {ControlKind.LIMIT: problem}}
