"""Which fault strikes when: all of it from the chance of the run's seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from appliance.simulation.agenda import Agenda
from appliance.simulation.database import Backup
from appliance.simulation.fleet import Secrets
from appliance.simulation.host import DEAD_MAN_S, SimulatedHost
from appliance.simulation.kernel import DISK_NAME, OTHER_NAME
from appliance.simulation.service import SimulatedService
from appliance.simulation.strikes import Strike
from appliance.simulation.trail import Trail
from appliance.simulation.truth import Truth

DAY_S = 86_400.0
HOST_EVERY_S = 25.0
SERVICE_EVERY_S = 90.0
LONGEST_STEPS = 14
"""A round changes disk and kernel about so often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of fault, how often it is drawn among all, and what it does to a host."""

    name: str
    weight: int
    strike: Callable[[SimulatedHost], None]


class HostFaults:
    """Strikes one host after another."""

    def __init__(
        self, hosts: list[SimulatedHost], *, agenda: Agenda, trail: Trail, rng: random.Random
    ) -> None:
        self._hosts, self._agenda, self._trail, self._rng = hosts, agenda, trail, rng
        self._kinds = self._all_kinds()
        self.is_over = False

    def begin(self) -> None:
        """Strike again and again until it is over."""
        self._agenda.after(self._rng.expovariate(1 / HOST_EVERY_S), self._strike)

    def names(self) -> list[str]:
        """All kinds, so that one that never struck is seen."""
        armed = [str(one) for one in Strike]
        return sorted({*armed, *(kind.name for kind in self._kinds)} - {"armed"})

    def end(self) -> None:
        """All that lasts is over, and who was down comes back."""
        self.is_over = True
        for host in self._hosts:
            host.way.is_cut = False
            host.way.trouble_ratio = 0.0
            host.strikes.disarm()
            host.wall_offset_s = 0.0
            host.kernel.disk_name = DISK_NAME
            if not host.known.is_ledger_lost:
                host.may_start = True
            if host.wrong_secrets:
                host.use(host.secrets)
            host.start_agent()

    def _strike(self) -> None:
        if self.is_over:
            return
        host = self._rng.choice(self._hosts)
        (kind,) = self._rng.choices(self._kinds, [one.weight for one in self._kinds])
        if kind.name != "armed":
            self._trail.fault(host.name, kind.name)
        kind.strike(host)
        self.begin()

    def _all_kinds(self) -> list[Kind]:
        return [
            Kind(name="armed", weight=10, strike=self._arm),
            Kind(name="killed between rounds", weight=2, strike=lambda one: one.kill_agent()),
            Kind(name="killed for long", weight=3, strike=self._kill_for_long),
            Kind(name="power lost between rounds", weight=2, strike=lambda one: one.cut_power()),
            Kind(name="stopped in order", weight=2, strike=lambda one: one.stop_agent()),
            Kind(name="clock off by a day", weight=3, strike=self._set_clock_far),
            Kind(name="clock off by minutes", weight=2, strike=self._set_clock_near),
            Kind(name="cut off from the service", weight=3, strike=self._cut),
            Kind(name="disk full", weight=2, strike=self._fill),
            Kind(name="disk renamed", weight=2, strike=self._rename),
            Kind(name="group made anew", weight=5, strike=self._make_anew),
            Kind(name="somebody else sets a limit", weight=3, strike=self._drift),
            Kind(name="ledger lost", weight=2, strike=self._lose_ledger),
            Kind(name="policy file damaged", weight=1, strike=self._damage_policy),
            Kind(name="secrets of another host", weight=2, strike=self._mix_up_secrets),
        ]

    def _later(self, shortest_s: float, longest_s: float, act: Callable[[], None]) -> None:
        """End a fault that lasts, unless all faults are over already."""
        self._agenda.after(
            self._rng.uniform(shortest_s, longest_s), lambda: None if self.is_over else act()
        )

    def _arm(self, host: SimulatedHost) -> None:
        host.strikes.arm(self._rng.choice(list(Strike)), self._rng.randint(1, LONGEST_STEPS))

    def _kill_for_long(self, host: SimulatedHost) -> None:
        host.may_start = False
        host.kill_agent()

        def back() -> None:
            host.may_start = not host.known.is_ledger_lost
            host.start_agent()

        self._later(30.0, 400.0, back)

    def _set_clock_far(self, host: SimulatedHost) -> None:
        self._set_clock(host, self._rng.choice((-DAY_S, DAY_S)))

    def _set_clock_near(self, host: SimulatedHost) -> None:
        self._set_clock(host, self._rng.uniform(-280.0, 280.0))

    def _set_clock(self, host: SimulatedHost, offset_s: float) -> None:
        def right() -> None:
            host.wall_offset_s = 0.0

        host.wall_offset_s = offset_s
        self._later(30.0, 300.0, right)

    def _cut(self, host: SimulatedHost) -> None:
        def joined() -> None:
            host.way.is_cut = False

        host.way.is_cut = True
        self._later(20.0, 400.0, joined)

    def _fill(self, host: SimulatedHost) -> None:
        def freed() -> None:
            host.strikes.is_disk_full = False

        host.strikes.is_disk_full = True
        host.excuse_trouble()
        self._later(20.0, 120.0, freed)

    def _rename(self, host: SimulatedHost) -> None:
        def back() -> None:
            host.kernel.disk_name = DISK_NAME

        host.kernel.disk_name = OTHER_NAME
        host.known.excuse(self._agenda.now_s + 240.0 + 2 * DEAD_MAN_S)
        self._later(20.0, 240.0, back)

    def _make_anew(self, host: SimulatedHost) -> None:
        path = self._rng.choice(sorted(host.kernel.changed() or host.kernel.groups))
        host.kernel.make_anew(path, self._rng.choice(({}, {"riops": "1200"}, {"wbps": "4096"})))

    def _drift(self, host: SimulatedHost) -> None:
        """What somebody sets where the agent has set nothing is what it finds."""
        path = self._rng.choice(sorted(host.kernel.groups))
        group = host.kernel.groups[path]
        is_found = group.is_as_found and not host.is_noted(path)
        group.limits = group.limits | {"riops": str(self._rng.randint(20, 3000))}
        if is_found:
            group.found = dict(group.limits)

    def _lose_ledger(self, host: SimulatedHost) -> None:
        if host.is_up and not host.is_busy:
            host.lose_ledger(is_garbled=self._rng.random() < 0.5)

    def _damage_policy(self, host: SimulatedHost) -> None:
        if not host.is_busy:
            host.damage_policy()

    def _mix_up_secrets(self, host: SimulatedHost) -> None:
        other = self._rng.choice([one for one in self._hosts if one is not host])
        mixed = Secrets(
            token=other.secrets.token,
            document_key=host.secrets.document_key,
            report_key=host.secrets.report_key,
        )
        host.use(mixed)
        self._later(40.0, 200.0, lambda: host.use(host.secrets))


class ServiceFaults:
    """Lets the service be away, its database fail, and go back to a backup."""

    def __init__(
        self,
        service: SimulatedService,
        truth: Truth,
        *,
        agenda: Agenda,
        trail: Trail,
        rng: random.Random,
    ) -> None:
        self._service, self._truth = service, truth
        self._agenda, self._trail, self._rng = agenda, trail, rng
        self._backup: tuple[Backup, Callable[[], None]] | None = None
        self.is_over = False

    def begin(self) -> None:
        """Strike again and again until it is over."""
        self._agenda.after(self._rng.expovariate(1 / SERVICE_EVERY_S), self._strike)

    def names(self) -> list[str]:
        """All kinds."""
        return ["restored from a backup", "service away", "statement fails"]

    def end(self) -> None:
        """The service works from now on."""
        self.is_over = True
        self._service.is_away = False
        self._service.statements.left = None

    def _strike(self) -> None:
        if self.is_over:
            return
        (act,) = self._rng.choices(
            (self._be_away, self._fail, self._back_up, self._restore), (2, 6, 2, 1)
        )
        act()
        self.begin()

    def _be_away(self) -> None:
        def back() -> None:
            self._service.is_away = False

        self._trail.fault("service", "service away")
        self._service.is_away = True
        self._agenda.after(self._rng.uniform(10.0, 240.0), back)

    def _fail(self) -> None:
        self._service.statements.left = self._rng.randint(1, 25)

    def _back_up(self) -> None:
        if self._backup is None:
            self._trail.note("service", "backs up")
            with self._service.statements.spared():
                self._backup = Backup(), self._truth.as_now()

    def _restore(self) -> None:
        if self._backup is None:
            return
        self._trail.fault("service", "restored from a backup")
        backup, truth_as_then = self._backup
        with self._service.statements.spared():
            backup.restore()
        truth_as_then()
