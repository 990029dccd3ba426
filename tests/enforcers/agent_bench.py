"""An agent on a kernel in memory, with a service and a clock that the test moves."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from enforcers.agent import Agent
from enforcers.clocks import Clocks
from enforcers.config import AgentConfig, OnExit, ServerConfig
from enforcers.contract import (
    ComplianceReport,
    MechanismSupport,
    PolicyDocument,
    decode_report,
    encode_document,
)
from enforcers.errors import ServerError
from enforcers.metrics.figures import Figures
from enforcers.metrics.in_force import InForce
from enforcers.policy_store import PolicyStore
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import KEY, NOON, document
from tests.enforcers.rig import start_rig

AWAY = ServerError("GET document: connection refused")
UNTOUCHED = "qdisc noqueue 0: root refcnt 2\n"


class FakeService:
    """Hands out one answer and collects reports; `fault`, or `refusal`, is raised instead."""

    def __init__(self, answer: bytes = b"") -> None:
        self.answer = answer
        self.fault: ServerError | None = None
        self.refusal: ServerError | None = None
        self.reports: list[ComplianceReport] = []

    def fetch_document(self) -> bytes:
        if self.fault is not None:
            raise self.fault
        return self.answer

    def send_report(self, report: bytes) -> None:
        if self.fault is not None or self.refusal is not None:
            raise self.fault or self.refusal
        self.reports.append(decode_report(report))


def agent_config(directory: Path, **config: Any) -> AgentConfig:
    """The configuration of an agent that keeps its state in this directory."""
    return AgentConfig(
        **{
            "host": "h1",
            "state_dir": directory,
            "poll_s": 10.0,
            "report_s": 30.0,
            "on_exit": OnExit.RESTORE,
            "dry_run": False,
            "server": ServerConfig(
                url=urlsplit("https://sluice.example"),
                timeout_s=1.0,
                ca_file=None,
                token="t" * 20,
                document_key=KEY,
            ),
            "reader": None,
            "mechanisms": {},
            **config,
        }
    )


class Bench:
    """An agent on a kernel in memory, with a clock that the test moves."""

    def __init__(self, directory: Path, **config: Any) -> None:
        self.directory = directory
        self.tc = FakeTc("up0", "p1", "p2", "p3")
        self.service = FakeService()
        self.support: tuple[MechanismSupport, ...] = ()
        self.seconds = 0.0
        self.suspended_s = 0.0
        self.clock_error_s = 0.0
        self.boot_id = "boot-1"
        self.booted_at_s = -1000.0
        self._config = agent_config(directory, **config)
        self.start()

    def start(self, *, is_watched: bool = True) -> None:
        """A new process on the same kernel and the same disk; somebody may ask for its figures."""
        rig = start_rig(self.directory, self.tc, boot_id=self.boot_id)
        clocks = Clocks(
            boot_id=self.boot_id,
            now=self.now,
            boot_s=lambda: self.seconds + self.suspended_s - self.booted_at_s,
            monotonic_s=lambda: self.seconds,
        )
        store = PolicyStore(self.directory / "policy.json", key=KEY, moment=clocks.moment())
        in_force = InForce(self.directory / "in_force.json")
        in_force.begin(self.boot_id, was_in_force=store.was_in_force, is_watched=is_watched)
        self.figures = Figures(in_force=in_force)
        self.agent = Agent(
            config=self._config,
            service=self.service,
            enforcement=rig.enforcement,
            store=store,
            support=lambda: self.support,
            clocks=clocks,
            status_file=self.directory / "status.json",
            figures=self.figures if is_watched else None,
        )

    def start_again(self, **config: Any) -> None:
        """With another configuration, and the kernel as it is."""
        self._config = replace(self._config, **config)
        self.start()

    def reboot(self) -> None:
        """The kernel forgets everything, and the agent starts again."""
        self.boot_id, self.booted_at_s = f"{self.boot_id}'", self.seconds
        self.tc = FakeTc("up0", "p1", "p2", "p3")
        self.start()

    def now(self) -> datetime:
        """What this host's clock shows."""
        return NOON + timedelta(seconds=self.seconds + self.suspended_s + self.clock_error_s)

    def publish(self, *allocations: Any, **change: Any) -> PolicyDocument:
        """Let the service hand out a policy with a fresh lease of 15 minutes."""
        now = NOON + timedelta(seconds=self.seconds + self.suspended_s)
        given = document(
            *allocations,
            **{
                "issued_at": now,
                "expires_at": now + timedelta(minutes=15),
                **change,
            },
        )
        self.service.answer = encode_document(given)
        return given

    def tick(self, after_s: float = 10.0) -> None:
        self.seconds += after_s
        self.agent.tick()

    @property
    def last(self) -> ComplianceReport:
        return self.service.reports[-1]

    @property
    def is_enforced(self) -> bool:
        return "class htb 51ce:10" in self.tc.text("up0")

    @property
    def is_as_found(self) -> bool:
        return self.tc.text("up0") == UNTOUCHED
