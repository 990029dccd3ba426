"""Limits the ports of a throttle by its files /sys/class/throttle/DEVICE/PORT/limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from enforcers.change import Change, Effect, FileWrite
from enforcers.contract import (
    Allocation,
    Control,
    ControlKind,
    Holds,
    MechanismSupport,
    Outcome,
    Setting,
    Unit,
)
from enforcers.executor import Execution, Executor
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Desired, HostAccess, Note, Plan, Seen

ROOT = "/sys/class/throttle"
PORT = "port"
UNLIMITED = "max"
HOLDS = Holds(
    reservation=Control(is_held=False, words="a throttle guarantees nothing"),
    limit=Control(is_held=True, words="the limit file of the port"),
    shares=Control(is_held=False, words="a throttle knows no shares"),
)
SHORTFALLS = {
    ControlKind.RESERVATION: Note(outcome=Outcome.UNSUPPORTED, reason=HOLDS.reservation.words),
    ControlKind.SHARES: Note(outcome=Outcome.UNSUPPORTED, reason=HOLDS.shares.words),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleConfig:
    """The devices whose ports may be limited."""

    devices: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleObserved:
    """What the limit files of a device say, by port; ports that are not there are left out."""

    device: str
    limits: Mapping[str, str]
    entries: tuple[LedgerEntry, ...]


class Throttle:
    """The limit is a file; a throttle has nothing for reservations and shares."""

    name: ClassVar[str] = "throttle"
    Config: ClassVar[type[ThrottleConfig]] = ThrottleConfig

    def __init__(self, host: HostAccess, config: ThrottleConfig) -> None:
        self._host_fs = host.host_fs
        self._devices = config.devices

    def support(self) -> MechanismSupport:
        is_there = self._host_fs.is_dir(ROOT)
        return MechanismSupport(
            mechanism=self.name,
            supported=is_there,
            reason=f"the kernel has throttles in {ROOT}" if is_there else f"there is no {ROOT}",
            units=(Unit.BYTES_PER_S,),
            selectors=(PORT,),
            holds=HOLDS,
        )

    def observe(self, desired: Desired, entries: tuple[LedgerEntry, ...]) -> ThrottleObserved:
        ports = {item.selector.value for item in desired.allocations if _problem(item) is None}
        texts = {
            port: self._host_fs.read_or_none(_file(desired.device, port))
            for port in sorted(ports | {entry.thing for entry in entries})
        }
        limits = {port: text.strip() for port, text in texts.items() if text is not None}
        return ThrottleObserved(device=desired.device, limits=limits, entries=entries)

    def plan(self, desired: Desired, observed: ThrottleObserved) -> Plan:
        notes: dict[str, Note] = {}
        wanted: dict[str, tuple[Allocation, str]] = {}
        for item in desired.allocations:
            problem = self._obstacle(item, observed)
            if problem is None:
                wanted[item.selector.value] = (item, _text(item))
            else:
                notes[item.id] = problem
        changes = [
            _change(observed, port, text, item.id)
            for port, (item, text) in wanted.items()
            if observed.limits[port] != text
        ]
        left = [entry for entry in observed.entries if entry.thing not in wanted]
        restored = [e for e in left if observed.limits.get(e.thing, e.found) == e.found]
        changes += [_change(observed, e.thing, e.found, None) for e in left if e not in restored]
        return Plan(
            changes=tuple(changes),
            wanted={item.id: _setting(text) for item, text in wanted.values()},
            notes=notes,
            shortfalls={item.id: SHORTFALLS for item, _ in wanted.values()},
            found=tuple(self._entry(observed, port) for port in wanted),
            restored=tuple(restored),
        )

    def apply(self, plan: Plan, executor: Executor) -> Execution:
        return executor.run(plan.changes, plan.found)

    def read_back(self, desired: Desired, observed: ThrottleObserved) -> Mapping[str, Seen]:
        return {
            item.id: Seen(setting=_setting(observed.limits[item.selector.value]), counters=None)
            for item in desired.allocations
            if _problem(item) is None and item.selector.value in observed.limits
        }

    def _obstacle(self, item: Allocation, observed: ThrottleObserved) -> Note | None:
        problem = _problem(item)
        if observed.device not in self._devices:
            problem = f"{observed.device} is not among throttle.devices"
        if problem is not None:
            return Note(outcome=Outcome.UNSUPPORTED, reason=problem)
        port = item.selector.value
        if port not in observed.limits:
            return Note(outcome=Outcome.FAILED, reason=f"{observed.device} has no port {port!r}")
        return None

    def _entry(self, observed: ThrottleObserved, port: str) -> LedgerEntry:
        return LedgerEntry(
            mechanism=self.name,
            device=observed.device,
            thing=port,
            found=observed.limits[port],
        )


def _problem(item: Allocation) -> str | None:
    """Why a throttle can never do this."""
    if item.selector.kind != PORT or "/" in item.selector.value:
        return f"a throttle recognises workloads by {PORT}, not by {item.selector}"
    return None


def _file(device: str, port: str) -> str:
    return f"{ROOT}/{device}/{port}/limit"


def _text(item: Allocation) -> str:
    return UNLIMITED if item.limit is None else str(int(item.limit))


def _setting(text: str) -> Setting:
    limit = None if text == UNLIMITED else float(text)
    return Setting(reservation=None, limit=limit, shares=None, native=f"limit {text}")


def _change(observed: ThrottleObserved, port: str, text: str, allocation: str | None) -> Change:
    before = observed.limits[port]
    return Change(
        target=f"{observed.device} limit of {port}",
        before=before,
        after=text,
        write=FileWrite(path=_file(observed.device, port), text=text),
        effect=Effect.GROW if text == UNLIMITED else Effect.SHRINK,
        depth=0,
        allocation=allocation,
        controls=frozenset({ControlKind.LIMIT}),
    )
