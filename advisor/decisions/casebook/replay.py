"""A bundle through the real path: its lines are stored, judged, attributed and advised on.

All of it happens in an organisation of its own, in a transaction that is taken back. So it changes
nothing, and the same bundle gives the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import TextChoices

from accounts.models import Organisation, Scope, Token
from advisor.advice.policy.gather import policy_inputs
from advisor.advice.policy.kind import POLICY
from advisor.core.canonical import to_plain
from advisor.core.casebook.bundle import Bundle, BundleError
from advisor.core.casebook.sample_lines import KINDS, lines_of
from advisor.core.casebook.score import Found, FoundIncident
from advisor.core.stored_hour import WINDOW_S
from advisor.decisions import inventory
from advisor.models import (
    AdapterKind,
    Allocation,
    Incident,
    Resource,
    Workload,
    WorkloadKind,
)
from advisor.pipeline.detect import detect
from advisor.pipeline.find_cause import find_causes
from advisor.pipeline.look_outside import look_where_due
from ingest.core.grid import grid_of
from ingest.core.line_protocol import Precision
from ingest.write import store

CASEBOOK = Path(__file__).parent / "bundles"
"""Incidents that were planted on real kernels (`python -m bench.lab.bundles`).

Those with an even number may serve to develop with. The odd ones only measure: no rule may be made
by them.
"""
LINES_AT_ONCE = 5000
_SLUG = "casebook-replay"

Choice = TypeVar("Choice", bound=TextChoices)


def replay(bundle: Bundle) -> Found:
    """What is found in a bundle; raises `BundleError` if its parts do not fit together."""
    with transaction.atomic():
        found = _replay(bundle)
        transaction.set_rollback(True)
    return found


def _replay(bundle: Bundle) -> Found:
    organisation = Organisation.objects.create(slug=_SLUG, name="Casebook")
    token, _ = Token.objects.issue(organisation=organisation, scope=Scope.INGEST, name="casebook")
    _send(bundle, token)
    resource = _resource(bundle, organisation)
    detect(resource=resource, now=bundle.until)
    look_where_due(resource=resource, now=bundle.until)
    find_causes(resource=resource, now=bundle.until)
    incidents = list(Incident.objects.filter(resource=resource).order_by("started_at"))
    if not incidents:
        return Found()
    longest = max(incidents, key=lambda one: (one.ended_at or bundle.until) - one.started_at)
    return Found(
        incidents=tuple(
            FoundIncident(
                began_at=one.started_at,
                ended_at=one.ended_at,
                is_stalled=one.stalled_windows > 0,
            )
            for one in incidents
        ),
        aggressors=tuple(one["workload"] for one in longest.culprits),
        victims=tuple(one["workload"] for one in longest.victims),
        answer=_answer(resource, longest, bundle.until),
    )


def _answer(resource: Resource, incident: Incident, until: datetime) -> dict[str, Any]:
    """The advice at the end of the incident, whether or not it would be kept."""
    if incident.peak_value is None:
        return {}
    end = min(incident.ended_at or until, until)
    inputs = policy_inputs(resource, incident, policy=None, until=end, now=end)
    return _without_numbers(to_plain(POLICY.decide(inputs)))


def _without_numbers(answer: dict[str, Any]) -> dict[str, Any]:
    """The numbers of rows differ from one replay to the next."""
    played = (answer.get("counterfactual") or {}).get("allocations", ())
    for row in (*answer.get("allocations", ()), *played):
        del row["allocation"]
    for row in played:
        for part in (row["past"], row["contended"]):
            if part is not None:
                part["workload"] = row["workload"]
    return answer


def _send(bundle: Bundle, token: Token) -> None:
    lines = _lines(bundle)
    while part := list(islice(lines, LINES_AT_ONCE)):
        result = store(
            "\n".join(part).encode(),
            token=token,
            precision=Precision.NS,
            now=bundle.until,
            retention=bundle.until - bundle.since + timedelta(days=1),
        )
        if result.rejected:
            raise BundleError(f"{result.rejected} lines are refused: {result.rejections[0]}")


def _lines(bundle: Bundle) -> Iterator[str]:
    grid = grid_of(bundle.since, bundle.until, WINDOW_S)
    at_ns = int(bundle.since.timestamp()) * 10**9
    for device in bundle.resource.devices:
        major, found, minor = device.number.partition(":")
        if found:
            head = f"block_device,host={device.host},name={device.name}"
            yield f"{head} major={major}i,minor={minor}i {at_ns}"
    for track in bundle.tracks:
        if track.kind not in {kind.name for kind in KINDS}:
            raise BundleError(f"counters of kind {track.kind} are not known here")
        yield from lines_of(track, grid)


def _resource(bundle: Bundle, organisation: Organisation) -> Resource:
    said = bundle.resource
    resource = inventory.add_resource(
        organisation=organisation,
        name=said.name,
        kind=said.kind,
        attachments=[(one.host, one.name) for one in said.devices],
        unit=said.unit,
        mode=said.mode,
        capacity=said.capacity,
        line_rate=said.line_rate,
        threshold=said.threshold,
        window_s=said.window_s,
    )
    resource.activity_floor = said.activity_floor
    resource.reservable_ratio = said.reservable_ratio
    resource.save()
    for one in said.allocations:
        row = inventory.set_allocation(
            resource=resource,
            workload_name=one.workload,
            host_name=one.host,
            adapter_kind=_choice(AdapterKind, one.adapter_kind),
            adapter=one.adapter,
            vdisk=one.vdisk,
        )
        # As it was stored: what may be stated today is no question here.
        Allocation.objects.filter(pk=row.pk).update(
            reservation=one.reservation, limit=one.limit, shares=one.shares
        )
        Workload.objects.filter(pk=row.workload_id).update(
            tier=one.tier, kind=_choice(WorkloadKind, one.kind)
        )
    return resource


def _choice(kind: type[Choice], value: str) -> Choice:
    if value not in kind.values:
        raise BundleError(f"{value!r} is none of {', '.join(kind.values)}")
    return kind(value)
