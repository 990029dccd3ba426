"""One run: everything that happens in it follows from its seed."""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.db import connection
from django.db.models import Count

from advisor.models import ComplianceRecord, Enforcer, PublishedDocument
from appliance.simulation.agenda import Agenda
from appliance.simulation.database import taken_back
from appliance.simulation.faults import HostFaults, ServiceFaults
from appliance.simulation.fleet import LEASE_S, Fleet, People
from appliance.simulation.host import POLL_S, SimulatedHost
from appliance.simulation.network import Question, Said, Trouble
from appliance.simulation.service import SimulatedService
from appliance.simulation.stand_ins import Turns
from appliance.simulation.trail import Trail, Violated, Violation
from appliance.simulation.truth import Truth, wire_time
from enforcers.client import REPORT_PATH
from enforcers.wire_signatures import REPORT_HEADER, read_report_signature

START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
TROUBLE_RATIO = 0.12
HEALS_BEFORE_END_S = LEASE_S + 4 * POLL_S
THREE_EXCHANGES_S = 3 * POLL_S + 15.0
"""Who was down comes up again, and no answer takes longer than that."""
PEOPLE_EVERY_S = 70.0
LOOK_EVERY_S = 10.0
SCHEDULER_EVERY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a seed. `cpu_s` is of this process and of its database."""

    seed: int
    violation: Violation | None
    events: tuple[str, ...]
    faults: Counter[str]
    cpu_s: float
    kinds: tuple[str, ...]


def run_seed(seed: int, fleet: Fleet, *, minutes: float) -> Outcome:
    """Play a seed to its end, or to the first violation."""
    began_s = _cpu_s()
    agenda = Agenda()
    trail = Trail(agenda)
    folder = Path(tempfile.mkdtemp(prefix="sluice-simulation-", dir=_fast_folder()))
    violation = None
    kinds: tuple[str, ...] = ()
    try:
        with _silent(), taken_back():
            run = _Run(seed, fleet, agenda=agenda, trail=trail, folder=folder)
            kinds = run.kinds
            run.play(60.0 * minutes)
    except Violated as error:
        violation = error.violation
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(
        seed=seed,
        violation=violation,
        events=tuple(trail.lines),
        faults=trail.faults,
        cpu_s=_cpu_s() - began_s,
        kinds=kinds,
    )


class _Run:
    def __init__(
        self, seed: int, fleet: Fleet, *, agenda: Agenda, trail: Trail, folder: Path
    ) -> None:
        rng = random.Random(seed)  # noqa: S311  no secret
        self._agenda, self._trail, self._fleet = agenda, trail, fleet
        self._owners = {one.token: name for name, one in fleet.secrets.items()}
        self._truth = Truth(sorted(fleet.secrets), trail)
        self._service = SimulatedService(trail, self._answered)
        self._turns = Turns(self._now)
        self._hosts = [
            SimulatedHost(
                name,
                secrets,
                folder=folder,
                start=START,
                serve=self._serve,
                turns=self._turns,
                agenda=agenda,
                trail=trail,
                truth=self._truth,
                rng=rng,
            )
            for name, secrets in sorted(fleet.secrets.items())
        ]
        self._people = People(fleet, rng, self._now)
        self._rng = rng
        self._host_faults = HostFaults(self._hosts, agenda=agenda, trail=trail, rng=rng)
        self._service_faults = ServiceFaults(
            self._service, self._truth, agenda=agenda, trail=trail, rng=rng
        )
        self.kinds = (
            *self._host_faults.names(),
            *self._service_faults.names(),
            *(str(one) for one in Trouble),
        )

    def play(self, length_s: float) -> None:
        """Faults first; then none, in which all comes right."""
        with self._turns.standing_in(), connection.execute_wrapper(self._service.statements):
            self._begin()
            heals_s = length_s - HEALS_BEFORE_END_S
            self._agenda.run_until(heals_s)
            self._heal()
            self._agenda.run_until(heals_s + THREE_EXCHANGES_S)
            for host in self._hosts:
                host.look_three_exchanges_later()
            self._agenda.run_until(length_s)
            self._end(heals_s)

    def _now(self) -> datetime:
        return START + timedelta(seconds=self._agenda.now_s)

    def _serve(self, question: Question) -> Said | None:
        with self._turns.of(None):
            return self._service.serve(question)

    def _begin(self) -> None:
        for place, host in enumerate(self._hosts):
            host.way.trouble_ratio = TROUBLE_RATIO
            self._agenda.at(place * 0.7, host.start_agent)
            self._agenda.at(5.0 + place, host.dead_man)
        self._agenda.at(45.0, self._first_policy)
        self._agenda.at(PEOPLE_EVERY_S, self._people_act)
        self._agenda.at(LOOK_EVERY_S, self._look)
        self._agenda.at(SCHEDULER_EVERY_S, self._schedule)
        self._agenda.at(60.0, self._host_faults.begin)
        self._agenda.at(60.0, self._service_faults.begin)

    def _first_policy(self) -> None:
        self._decided("approves a policy", self._people.approve)
        self._people.end_trials()

    def _people_act(self) -> None:
        if self._host_faults.is_over:
            return
        names = sorted(self._people.acts())
        name = self._rng.choice([*names, "approves a policy", "hurries a rollout"])
        self._decided(name, self._people.acts()[name])
        self._agenda.after(self._rng.expovariate(1 / PEOPLE_EVERY_S), self._people_act)

    def _decided(self, name: str, act: object) -> None:
        assert callable(act)
        is_done = not self._service.is_away and self._service.decide(act)
        self._trail.note("people", name if is_done else f"{name}: in vain")

    def _schedule(self) -> None:
        if not self._service.is_away:
            self._service.decide(self._people.look_at_rollouts)
        self._agenda.after(SCHEDULER_EVERY_S, self._schedule)

    def _look(self) -> None:
        for host in self._hosts:
            host.look_at_lease()
        self._agenda.after(LOOK_EVERY_S, self._look)

    def _heal(self) -> None:
        self._trail.note("all", "faults are over")
        self._service_faults.end()
        self._host_faults.end()
        self._people.end_trials()

    def _answered(self, question: Question, said: Said) -> None:
        if said.status != 200:
            return
        if question.method == "GET":
            self._truth.document_given(said.body)
        elif question.path == REPORT_PATH:
            self._report_answered(question, said)

    def _report_answered(self, question: Question, said: Said) -> None:
        owner = self._owners[question.headers["Authorization"].removeprefix("Bearer ")]
        header = question.headers.get(REPORT_HEADER)
        number = None if header is None else read_report_signature(header).number
        count = json.loads(said.body)["accepted"]
        self._truth.report_taken(owner, json.loads(question.body), number=number, count=count)
        shown = Enforcer.objects.get(host__name=owner, host__organisation=self._fleet.organisation)
        published = PublishedDocument.objects.filter(host=shown.host_id)
        self._truth.shown(
            owner,
            shown.applied_revision,
            frozenset(published.values_list("revision", flat=True)),
        )

    def _end(self, healed_s: float) -> None:
        for host in self._hosts:
            self._truth.came_right(
                host.name,
                host.kernel.groups,
                is_running=host.process is not None,
                made_until_s=self._agenda.now_s - 2 * POLL_S,
                # Who waited at the last fault may still have been killed by it.
                made_from_s=healed_s + THREE_EXCHANGES_S,
            )
        self._compare_records()
        for host in self._hosts:
            host.stop_agent()

    def _compare_records(self) -> None:
        """What is stored beside what was acknowledged."""
        for owner in self._truth.hosts:
            rows = ComplianceRecord.objects.filter(
                host__name=owner, host__organisation=self._fleet.organisation
            )
            counts = rows.values_list("reported_at").annotate(Count("pk"))
            self._truth.kept(owner, {wire_time(at): number for at, number in counts})


def _fast_folder() -> str | None:
    """In memory where that is: nothing here has to outlive the run."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108


@contextmanager
def _silent() -> Iterator[None]:
    """Thousands of faults would be logged; the trail has them."""
    former = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(former)


def _cpu_s() -> float:
    """Of this process, and of its connection's process at the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        row = cursor.fetchone()
    ticks = 0
    stat = Path(f"/proc/{row[0] if row else 0}/stat")
    if stat.exists():
        words = stat.read_text().rpartition(")")[2].split()
        ticks = int(words[11]) + int(words[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")
