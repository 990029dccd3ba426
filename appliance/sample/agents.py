"""Agents of the sample's hosts: they hold the policies of their documents, and report it.

No kernel is behind them: what a policy does to the machines is in `story.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path

from appliance.sample.connection import ask
from appliance.sample.fleet import UPLINK, machines
from appliance.sample.story import Division, Divisions, Moment
from enforcers.contract import (
    HOST_KIND,
    HOST_TRAFFIC,
    POOL,
    Allocation,
    AllocationReport,
    ComplianceReport,
    ContractError,
    Control,
    ControlOutcome,
    ControlOutcomes,
    EnforcementState,
    Holds,
    Measurement,
    MechanismSupport,
    Outcome,
    PolicyDocument,
    Setting,
    Unit,
    decode_document,
    encode_report,
)
from enforcers.entitlement import Claim
from enforcers.wire_signatures import (
    REPORT_HEADER,
    SignatureKind,
    document_media,
    signed_report,
)

VERSION = "sample"
_DOCUMENT, _REPORT = "/api/v1/enforcer/document", "/api/v1/enforcer/report"
_SIMULATED = "simulated: the sample has no kernel"
_FULL_RATIO = 0.97
"""Who gets this part of the entitlement has more waiting."""


def _mechanism(name: str, units: tuple[Unit, ...], *selectors: str) -> MechanismSupport:
    held = Control(is_held=True, words=_SIMULATED)
    return MechanismSupport(
        mechanism=name,
        supported=True,
        reason=_SIMULATED,
        units=units,
        selectors=selectors,
        holds=Holds(reservation=held, limit=held, shares=held),
    )


SUPPORT = (
    _mechanism("tc_htb", (Unit.BITS_PER_S,), "vnic", HOST_TRAFFIC, HOST_KIND, POOL),
    _mechanism("cgroup_io", (Unit.IOPS, Unit.BYTES_PER_S), "cgroup", "libvirt_domain"),
)


class Agents:
    """One for each host with a token; what they hold lasts as long as its lease."""

    def __init__(self, path: Path, socket_path: str) -> None:
        kept = json.loads(path.read_text()) if path.is_file() else {}
        self._agents: Mapping[str, Mapping[str, str]] = kept
        self._socket = socket_path
        self._held: dict[str, PolicyDocument] = {}

    def divided(self, now: datetime) -> Divisions:
        """What the documents divide at this time."""
        return {
            (host, spec.device): Division(
                mode=spec.mode,
                claims={
                    item.workload: Claim(
                        reservation=item.reservation, limit=item.limit, shares=float(item.shares)
                    )
                    for item in document.allocations
                    if item.resource == spec.name
                },
            )
            for host, document in self._held.items()
            if now < document.expires_at and not document.dry_run
            for spec in document.resources
        }

    def turn(self, moment: Moment, now: datetime, *, window_s: float) -> None:
        """Take each host's document, and report what its machines did in the last window.

        A server that does not answer is asked at the next turn.
        """
        for host, files in self._agents.items():
            try:
                if self._take(host, files["token"]):
                    self._report(host, files, moment, now, window_s)
            except (OSError, HTTPException, ContractError):
                continue

    def _take(self, host: str, token: str) -> bool:
        accept = {"Accept": document_media(SignatureKind.ED25519)}
        answer = ask(self._socket, "GET", _DOCUMENT, token=token, headers=accept)
        if answer.status != HTTPStatus.OK:
            return False
        self._held[host] = decode_document(answer.body)
        return True

    def _report(
        self,
        host: str,
        files: Mapping[str, str],
        moment: Moment,
        now: datetime,
        window_s: float,
    ) -> None:
        body = encode_report(report_of(self._held[host], moment, now, window_s=window_s))
        secret = bytes.fromhex(files["report-key"].partition(":")[2])
        signed = signed_report(body, number=time.time_ns() // 1000, secret=secret)
        ask(
            self._socket, "POST", _REPORT, token=files["token"], body=body,
            headers={REPORT_HEADER: signed},
        )  # fmt: skip


def report_of(
    document: PolicyDocument, moment: Moment, now: datetime, *, window_s: float
) -> ComplianceReport:
    """What an agent says that holds the document while the machines do this."""
    return ComplianceReport(
        host=document.host,
        revision=document.revision,
        reported_at=now.astimezone(UTC) - timedelta(seconds=1),
        agent_version=VERSION,
        state=_state(document),
        refusal=None,
        reports_dropped=0,
        support=SUPPORT,
        allocations=tuple(
            _allocation(item, document, moment, window_s) for item in document.allocations
        ),
    )


def _state(document: PolicyDocument) -> EnforcementState:
    if not document.allocations:
        return EnforcementState.IDLE
    return EnforcementState.DRY_RUN if document.dry_run else EnforcementState.ENFORCING


def _allocation(
    item: Allocation, document: PolicyDocument, moment: Moment, window_s: float
) -> AllocationReport:
    wanted = Setting(reservation=item.reservation, limit=item.limit, shares=float(item.shares))
    found = None if document.dry_run else replace(wanted, native=_SIMULATED)
    outcome = ControlOutcome(outcome=Outcome.UNCHANGED, reason="as wanted")
    return AllocationReport(
        id=item.id,
        workload=item.workload,
        resource=item.resource,
        desired=wanted,
        applied=found,
        read_back=found,
        measured=_measured(item, document, moment, window_s),
        outcome=outcome.outcome,
        reason=outcome.reason,
        controls=ControlOutcomes.all_as(outcome),
    )


def _measured(
    item: Allocation, document: PolicyDocument, moment: Moment, window_s: float
) -> Measurement:
    device = next(one.device for one in document.resources if one.name == item.resource)
    rates = moment.sent_bits_per_s if device == UPLINK else moment.iops
    # Nothing is told of what the host itself sends.
    places = [place for place, one in enumerate(machines()) if one.name == item.workload]
    rate = float(sum(rates[place] for place in places))
    samples = int(window_s)
    return Measurement(
        rate=rate,
        window_s=window_s,
        sample_count=samples,
        backlogged_samples=samples if rate >= _FULL_RATIO * item.entitlement > 0 else 0,
        backlog_bytes=None,
        drops=None,
        overlimits=None,
    )
