"""Agents of the sample's hosts: what they hold, for how long, and what they report."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from appliance.sample.agents import SUPPORT, Agents, report_of
from appliance.sample.connection import Answer
from appliance.sample.fleet import machine
from appliance.sample.story import NEIGHBOUR, Division, Story
from enforcers import ed25519
from enforcers.contract import (
    Allocation,
    EnforcementState,
    Outcome,
    PolicyDocument,
    ReservationMode,
    ResourceKind,
    ResourceSpec,
    Selector,
    Unit,
    decode_report,
    encode_document,
)
from enforcers.entitlement import Claim
from enforcers.wire_signatures import (
    REPORT_HEADER,
    read_report_signature,
    report_message,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOST = machine(NEIGHBOUR).host


def document(
    *, dry_run: bool = False, of: str = NEIGHBOUR, entitlement: float = 4000.0
) -> PolicyDocument:
    """silver-01 is divided on the neighbour's host for a quarter of an hour."""
    spec = ResourceSpec(
        name="silver-01", kind=ResourceKind.DATASTORE, device="sdd", capacity=6000.0,
        unit=Unit.IOPS, mode=ReservationMode.FLOOR, mechanism="cgroup_io",
    )  # fmt: skip
    allocation = Allocation(
        id="allocation-1", workload=of, resource="silver-01",
        selector=Selector(kind="cgroup", value="/a"), reservation=0.0, limit=None, shares=1000,
        entitlement=entitlement,
    )  # fmt: skip
    return PolicyDocument(
        host=HOST, revision=3, issued_at=NOW, expires_at=NOW + timedelta(minutes=15),
        dry_run=dry_run, resources=(spec,), allocations=(allocation,), signature="ab" * 32,
    )  # fmt: skip


HELD = {
    (HOST, "sdd"): Division(
        mode=ReservationMode.FLOOR, claims={NEIGHBOUR: Claim(reservation=0.0, shares=1000.0)}
    )
}
"""What the document divides."""


SECRET = bytes(range(32))


class Server:
    """Gives the document, and keeps what is reported."""

    def __init__(self, given: PolicyDocument | None) -> None:
        self.given = given
        self.reports: list[bytes] = []
        self.tokens: list[str] = []

    def ask(self, _socket: str, method: str, _address: str, **sent: object) -> Answer:
        self.tokens.append(str(sent["token"]))
        if method == "POST":
            body = sent["body"]
            assert isinstance(body, bytes)
            headers = sent["headers"]
            assert isinstance(headers, dict)
            signed = read_report_signature(headers[REPORT_HEADER])
            message = report_message(body, number=signed.number)
            assert ed25519.is_signed(message, signed.signature, ed25519.public_key(SECRET))
            self.reports.append(body)
            return Answer(status=200, body=b"{}", retry_after=None)
        if self.given is None:
            return Answer(status=503, body=b"", retry_after=None)
        return Answer(status=200, body=encode_document(self.given), retry_after=None)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    told = Server(document())
    monkeypatch.setattr("appliance.sample.agents.ask", told.ask)
    return told


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    path = tmp_path / "agents.json"
    files = {"token": "secret", "report-key": f"ed25519-secret:{SECRET.hex()}"}
    path.write_text(json.dumps({HOST: files}))
    return Agents(path, "socket")


def turn(agents: Agents) -> None:
    agents.turn(Story(0.0).at(0.0), NOW, window_s=10)


def test_agent_divides_what_its_document_names_until_the_lease_ends(
    server: Server, agents: Agents
) -> None:
    turn(agents)

    assert agents.divided(NOW) == HELD
    assert agents.divided(NOW + timedelta(minutes=15)) == {}
    assert server.tokens == ["secret", "secret"]


def test_dry_run_divides_nothing_and_applies_nothing(server: Server, agents: Agents) -> None:
    server.given = document(dry_run=True)

    turn(agents)

    assert agents.divided(NOW) == {}
    (report,) = map(decode_report, server.reports)
    assert report.state is EnforcementState.DRY_RUN
    assert report.allocations[0].applied is None


def test_server_that_answers_nothing_leaves_what_is_held(server: Server, agents: Agents) -> None:
    turn(agents)
    server.given = None

    turn(agents)

    assert agents.divided(NOW) == HELD
    assert len(server.reports) == 1


def test_server_that_is_away_is_no_error(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> Answer:
        raise ConnectionRefusedError

    monkeypatch.setattr("appliance.sample.agents.ask", away)

    turn(agents)

    assert agents.divided(NOW) == {}


def test_folder_without_agents_of_a_former_release_has_none(tmp_path: Path) -> None:
    agents = Agents(tmp_path / "agents.json", "socket")

    turn(agents)

    assert agents.divided(NOW) == {}


@pytest.mark.parametrize(("entitlement", "waiting"), [(1e6, 0), (1.0, 10)], ids=["more", "less"])
def test_report_tells_what_the_machine_did(entitlement: float, waiting: int) -> None:
    moment = Story(0.0).at(0.0)
    place = machine(NEIGHBOUR).number - 1

    report = report_of(document(entitlement=entitlement), moment, NOW, window_s=10)

    (told,) = report.allocations
    assert told.measured is not None
    assert told.measured.rate == pytest.approx(float(moment.iops[place]))
    assert told.measured.backlogged_samples == waiting
    assert told.outcome is Outcome.UNCHANGED
    assert told.read_back == told.applied != None  # noqa: E711  None would be equal to itself
    assert report.revision == 3
    assert report.support == SUPPORT
