"""A host: its kernel, disk and clock, and the real agent on them, which can end at any moment."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from appliance.simulation.agenda import Agenda
from appliance.simulation.disk import SimulatedDisk
from appliance.simulation.fleet import LEASE_S, SUBTREE, Secrets
from appliance.simulation.kernel import DISK_NAME, SimulatedKernel
from appliance.simulation.network import Serve, Way
from appliance.simulation.stand_ins import Turns
from appliance.simulation.strikes import Killed, Strike, Strikes
from appliance.simulation.trail import Trail
from appliance.simulation.truth import Truth, seconds_since
from enforcers.agent import Agent
from enforcers.assembly import Machine, Parts, assemble
from enforcers.client import Client
from enforcers.clocks import Clocks
from enforcers.config import AgentConfig, OnExit, ServerConfig
from enforcers.dead_man import restore_left
from enforcers.errors import CommandError, StateError
from enforcers.ledger import Ledger
from enforcers.mechanism import HostAccess
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.cgroup_io.mechanism import CgroupIo
from enforcers.restoring import put_back, recover_at_start
from enforcers.state_dir import StateDir

POLL_S = 40.0
REPORT_S = 80.0
DEAD_MAN_S = 60.0
RESTART_S = 2.0
LONGEST_RETRY_S = 300.0
"""How long an agent waits at most before it tries again what failed (`enforcers.retry`)."""


class NoPrograms:
    """A host without any program: nothing here needs one."""

    def run(self, argv: object, *, stdin: str = "") -> str:
        """Raises CommandError."""
        del stdin
        raise CommandError([str(argv)], "there are no programs here")


@dataclass(frozen=True, slots=True)
class Process:
    """An agent that runs."""

    agent: Agent
    parts: Parts
    ends: ExitStack


class SimulatedHost:
    """One host of the fleet."""

    def __init__(
        self,
        name: str,
        secrets: Secrets,
        *,
        folder: Path,
        start: datetime,
        serve: Serve,
        turns: Turns,
        agenda: Agenda,
        trail: Trail,
        truth: Truth,
        rng: random.Random,
    ) -> None:
        self.name, self.secrets = name, secrets
        self._start, self._turns, self._agenda = start, turns, agenda
        self._trail, self._truth, self._rng = trail, truth, rng
        self.known = truth.hosts[name]
        state_dir = folder / name / "state"
        state_dir.mkdir(parents=True)
        self._run_dir = folder / name / "run"
        self.strikes = Strikes(self._struck)
        self.disk = SimulatedDisk(state_dir, self.strikes)
        self.disk.told = self._file_written
        self.kernel = SimulatedKernel(_groups(rng), before_write=self.strikes.kernel_step)
        self.kernel.told = self._kernel_written
        self.way = Way(self, serve, agenda=agenda, trail=trail, rng=rng)
        self.process: Process | None = None
        self.wall_offset_s = 0.0
        self.is_up = True
        self.may_start = True
        self._boots, self._booted_at_s = 1, -1000.0
        self._loses_power = False
        self.is_busy = False
        self.wrong_secrets = False
        self._config = self._configured(secrets)

    # --- What the host is asked by the agent

    def now(self) -> datetime:
        """What its clock shows."""
        return self._start + timedelta(seconds=self._agenda.now_s + self.wall_offset_s)

    def wait(self, seconds: float) -> None:
        """Let others go on while the agent waits for the service."""
        with self._turns.of(None):
            self._agenda.run_until(self._agenda.now_s + seconds)
        self.strikes.check_alive()

    # --- What happens to it

    def start_agent(self) -> None:
        """As systemd does, which tries again for ever."""
        if self.process is not None or not (self.is_up and self.may_start) or self.is_busy:
            return
        self.strikes.is_dead = False
        ends = ExitStack()
        try:
            self._do(lambda: self._begin(ends))
        except StateError as error:
            ends.close()
            self._trail.note(self.name, f"agent does not start: {type(error).__name__}")
            self._agenda.after(5 * RESTART_S, self.start_agent)
        except Killed:
            self._end(ends)

    def kill_agent(self) -> None:
        """SIGKILL, wherever it is."""
        if self.is_busy:
            self.strikes.is_dead = True
        elif self.process is not None:
            self._end(self.process.ends)

    def cut_power(self) -> None:
        """The host is without power, and boots a while later; one that is down already does."""
        if not self.is_up:
            return
        self._loses_power = True
        if self.is_busy:
            self.strikes.is_dead = True
        else:
            self._end(self.process.ends if self.process else ExitStack())

    def stop_agent(self) -> None:
        """SIGTERM, as at an upgrade of the package; it comes back."""
        process = self.process
        if process is None or self.is_busy:
            return
        try:
            self._do(process.agent.stop)
        except Killed:
            self._end(process.ends)
            return
        self._close(process.ends)
        said = self.known.report
        if (
            self._config.on_exit is OnExit.RESTORE
            and said is not None
            and said["refusal"] == "the agent was stopped"
        ):
            self._truth.said_as_found(self.name, "the agent that stops", self.kernel.changed())
        self._trail.note(self.name, "agent stopped")
        self._agenda.after(RESTART_S, self.start_agent)

    def use(self, secrets: Secrets) -> None:
        """Start anew with other files of an enrolment."""
        self.wrong_secrets = secrets is not self.secrets
        self._config = self._configured(secrets)
        self.kill_agent()

    def lose_ledger(self, is_garbled: bool) -> None:
        """Both copies are gone, or of no use; the agent is down until a person has looked."""
        self.may_start = False
        self.kill_agent()
        for path in sorted(self.disk.root.glob("ledger*.json")):
            if is_garbled:
                path.write_bytes(path.read_bytes()[:-9])
            else:
                path.unlink()
        self.known.is_ledger_lost = True

    def damage_policy(self) -> None:
        """What the agent held is of no use when it starts again."""
        self.kill_agent()
        path = self.disk.root / "policy.json"
        if path.exists():
            path.write_bytes(path.read_bytes()[:-5])
        self.known.revision = None

    def is_noted(self, path: str) -> bool:
        """Whether the ledger has an entry of a group, which then stands for what was found.

        One of a group of that name that is gone does not.
        """
        return (f"{path} io.max", str(self.kernel.groups[path].identity)) in self._noted()

    def dead_man(self) -> None:
        """What the timer does each minute."""
        self._agenda.after(DEAD_MAN_S, self.dead_man)
        if not self.is_up or self.is_busy:
            return
        seen: list[Parts] = []

        def assembled() -> Parts:
            seen.append(self._assembled())
            return seen[-1]

        if self.process is None:
            self.strikes.is_dead = False
        try:
            with redirect_stderr(io.StringIO()):
                status = self._do(lambda: restore_left(self.disk.root, assembled))
        except StateError:
            return
        except Killed:
            for parts in seen:
                parts.locks.close()
            self._end(ExitStack())
            return
        if seen and self.process is None:
            self._dead_man_said(status, seen[0])

    def look_at_lease(self) -> None:
        """Hold the kernel to the end of the lease."""
        looks_after = 2 * POLL_S if self.process is not None else DEAD_MAN_S + POLL_S
        self._truth.time_passed(
            self.name, self.kernel.changed(), self._agenda.now_s, slack_s=looks_after + POLL_S
        )

    def look_three_exchanges_later(self) -> None:
        """Hold the host to what it must have come to since the last fault."""
        if self.known.is_ledger_lost or self._agenda.now_s < self.known.excused_until_s:
            # A person has still to look, or the agent waits before it tries again.
            return
        self._truth.is_right_or_leased(
            self.name, self.kernel.groups, self._agenda.now_s, slack_s=2 * POLL_S
        )

    def excuse_trouble(self) -> None:
        """What failed for a while is tried again later and later."""
        self.known.excuse(self._agenda.now_s + LONGEST_RETRY_S + 2 * DEAD_MAN_S)

    # --- The agent

    def _begin(self, ends: ExitStack) -> None:
        ends.enter_context(StateDir(root=self.disk.root).exclusive())
        parts = self._assembled()
        ends.callback(parts.locks.close)
        recover_at_start(parts)
        agent = Agent(
            config=self._config,
            service=Client(self._config.server, http=self.way),
            enforcement=parts.enforcement,
            store=parts.store,
            support=lambda: tuple(item.support() for item in parts.mechanisms.values()),
            clocks=parts.clocks,
            status_file=StateDir(root=self.disk.root).status,
        )
        self.process = Process(agent, parts, ends)
        self._trail.note(self.name, "agent started")
        self._agenda.after(0.0, lambda: self._round(agent))

    def _round(self, agent: Agent) -> None:
        """One round, and the next one a while after it."""
        process = self.process
        if process is None or process.agent is not agent:
            return
        self._agenda.after(POLL_S, lambda: self._round(agent))
        if self.is_busy:
            return
        try:
            self._do(agent.tick)
        except Killed:
            self._end(process.ends)
            return
        except Exception as error:  # noqa: BLE001  (as the loop of the agent does)
            self._trail.require(
                False, "never-an-error-unforeseen", f"a round of {self.name} fails: {error!r}"
            )
        self._learn(process)

    def _do(self, act: Callable[[], int | None]) -> int | None:
        """Let the agent's code run."""
        self.is_busy = True
        try:
            with self._turns.of(self):
                return act()
        finally:
            self.is_busy = False
            self._look_at_ledger()

    def _end(self, ends: ExitStack) -> None:
        """The process is gone; with it goes what it had locked."""
        self._close(ends)
        self.strikes.is_dead = False
        self._trail.note(self.name, "agent ended")
        if self._loses_power:
            self._reboot()
        else:
            self._agenda.after(RESTART_S, self.start_agent)

    def _close(self, ends: ExitStack) -> None:
        ends.close()
        self.process = None

    def _reboot(self) -> None:
        self._loses_power = False
        self.is_up = False
        self.disk.lose_power(self._rng)
        self.kernel.boot()
        self._boots += 1
        down_s = self._rng.choice((20.0, 40.0, 240.0))
        if self.wall_offset_s:
            # Then only a clock that is wrong tells how much is left of a lease.
            self.known.excuse(self._agenda.now_s + down_s + LEASE_S + 2 * DEAD_MAN_S)
        self._agenda.after(down_s, self._boot)

    def _boot(self) -> None:
        self._booted_at_s = self._agenda.now_s
        self.is_up = True
        self._trail.note(self.name, "booted")
        self.start_agent()

    def _struck(self, strike: Strike) -> None:
        self._trail.fault(self.name, str(strike), "within a step")
        if strike is Strike.POWER_LOSS:
            self._loses_power = True
        if strike in {Strike.KERNEL_REFUSES, Strike.DISK_ERROR}:
            self.excuse_trouble()

    def _dead_man_said(self, status: int | None, parts: Parts) -> None:
        held = parts.store.governing()
        is_over = held is None or held.lease.is_over(parts.clocks.moment())
        if not is_over:
            return
        if status == 0:
            self._truth.said_as_found(self.name, "the dead man", self.kernel.changed())
        if self.known.is_ledger_lost:
            if status != 0 and not self._restore_by_force():
                # With a full disk they try again later.
                return
            self.known.is_ledger_lost = False
            self.may_start = True
            self._agenda.after(RESTART_S, self.start_agent)

    def _restore_by_force(self) -> bool:
        """A person was told, and puts all to the kernel's defaults: `restore --force`.

        They wait until the disk is there.
        """
        if self.kernel.disk_name != DISK_NAME:
            return False
        self._trail.note(self.name, "a person restores by force")
        with self._turns.of(self), ExitStack() as ends:
            parts = self._assembled()
            ends.callback(parts.locks.close)
            try:
                restored = put_back(parts, by_force=True)
            except Killed:
                # Whoever looks next goes on with what was begun.
                self._found_are_defaults(is_whole=False)
                self._end(ExitStack())
                return False
        self._found_are_defaults(is_whole=not restored.problems)
        if restored.problems:
            return False
        self._truth.said_as_found(self.name, "a person", self.kernel.changed())
        return True

    def _found_are_defaults(self, *, is_whole: bool) -> None:
        """What a person has put to the defaults, or has begun to: that stands in a ledger's copy.

        With a full disk nothing can be noted, and then nothing is changed either.
        """
        noted = {entry.thing for entry in self._ledger_on_disk().entries()}
        for path, group in self.kernel.groups.items():
            is_begun = f"{path} io.max" in noted or group.limits == _NO_LIMITS
            if path.startswith(SUBTREE) and (is_whole or is_begun):
                group.found = dict(_NO_LIMITS)

    # --- What is looked at

    def _kernel_written(self, path: str, _limits: object) -> None:
        process = self.process
        if process is not None:
            self._learn(process)
        self._truth.written(self.name, path, self.kernel.groups[path], self._agenda.now_s)

    def _learn(self, process: Process) -> None:
        """Which document the agent holds."""
        latest = process.parts.store.latest
        if latest is not None:
            document = latest.document
            issued_s = seconds_since(self._start, document.issued_at)
            is_kept = not self.is_busy and self._kept_revision() == document.revision
            self._truth.accepted(self.name, document, issued_s, is_kept=is_kept)

    def _ledger_on_disk(self) -> Ledger:
        return Ledger(self.disk.root / "ledger.json", boot_id=self._boot_id)

    def _kept_revision(self) -> int | None:
        """The revision that the host would hold after a loss of power."""
        if not self.disk.outlives("policy.json"):
            return None
        latest = json.loads((self.disk.root / "policy.json").read_bytes())["latest"]
        return latest and int(latest["document"]["revision"])

    def _file_written(self, path: Path) -> None:
        """Which report the agent has made, of the kernel as it is now, and which lease it has.

        An agent that ends between its files and the kernel leaves the lease to who comes next.
        """
        if path.name == "status.json":
            report = json.loads(path.read_bytes())
            self._truth.reported(self.name, report, self.kernel.groups, self._agenda.now_s)
        elif path.name == "policy.json":
            latest = json.loads(path.read_bytes())["latest"]
            if latest and not latest["document"]["dry_run"]:
                issued_at = datetime.fromisoformat(latest["document"]["issued_at"])
                self._truth.leased(self.name, seconds_since(self._start, issued_at))

    def _look_at_ledger(self) -> None:
        changed = self.kernel.changed()
        if not changed:
            return
        self._truth.ledger(self.name, self._noted(), changed)

    def _noted(self) -> frozenset[tuple[str, str | None]]:
        ledger = self._ledger_on_disk()
        return frozenset((entry.thing, entry.identity) for entry in ledger.entries())

    # --- What it is made of

    @property
    def _boot_id(self) -> str:
        return f"{self.name}-boot-{self._boots}"

    def _assembled(self) -> Parts:
        def boot_s() -> float:
            return self._agenda.now_s - self._booted_at_s

        clocks = Clocks(boot_id=self._boot_id, now=self.now, boot_s=boot_s, monotonic_s=boot_s)
        machine = Machine(
            host=HostAccess(runner=NoPrograms(), host_fs=self.kernel),
            clocks=clocks,
            run_dir=self._run_dir,
        )
        return assemble(self._config, dry_run=False, mechanisms=(CgroupIo,), machine=machine)

    def _configured(self, secrets: Secrets) -> AgentConfig:
        return AgentConfig(
            host=self.name,
            state_dir=self.disk.root,
            poll_s=POLL_S,
            report_s=REPORT_S,
            on_exit=OnExit.RESTORE,
            dry_run=False,
            server=ServerConfig(
                url=urlsplit("http://localhost"),
                timeout_s=10.0,
                ca_file=None,
                token=secrets.token,
                document_key=secrets.document_key,
                report_key=secrets.report_key,
            ),
            reader=None,
            mechanisms={
                "cgroup_io": CgroupIoConfig(
                    subtrees=frozenset({SUBTREE}), devices=frozenset({DISK_NAME})
                )
            },
        )


_NO_LIMITS = dict.fromkeys(("rbps", "wbps", "riops", "wiops"), "max")


def _groups(rng: random.Random) -> dict[str, dict[str, str]]:
    """The workloads' groups and one of somebody else's, some with limits of other people."""
    found: dict[str, dict[str, str]] = {f"{SUBTREE}/{name}": {} for name in ("vm1", "vm2", "vm3")}
    found[f"{SUBTREE}/vm1"] = rng.choice(({}, {"riops": "700"}, {"rbps": "1048576"}))
    found[f"{SUBTREE}/vm2"] = rng.choice(({}, {"wiops": "90", "wbps": "2097152"}))
    return {**found, "/system.slice/db": {"riops": "4000"}}
