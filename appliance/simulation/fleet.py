"""What people state before a run, hosts with agents on one datastore, and what they decide."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from accounts.models import Membership, Organisation, Role
from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.decisions import inventory
from advisor.decisions.decide import approve, rollback
from advisor.decisions.enrolment import enroll
from advisor.decisions.rollouts.advance import advance, open_rollouts
from advisor.decisions.rollouts.steer import go_on
from advisor.errors import AdvisorError
from advisor.models import (
    AdapterKind,
    AgentKey,
    Allocation,
    Enforcer,
    PolicyRollout,
    Recommendation,
    Resource,
    ResourceKind,
)
from appliance.simulation.kernel import DISK_NAME
from enforcers.signature import DocumentKey, ServerKey
from ingest.models import Host

LEASE_S = 180
CAPACITY_IOPS = 5000.0
WORKLOADS = ("vm1", "vm2", "vm3")
SUBTREE = "/machine.slice"
_EVERY_OLD = 3
"""Each third host was enrolled by the release before and shares a secret."""
_OLD_SECRET = "5b" * 32
LIMITS = (None, 100.0, 250.0, 900.0, 2000.0, 1.0, 5e9)
"""The smallest is below what io.max takes, the largest beyond what it counts."""
_WEIGHTS = (4, 4, 4, 4, 4, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What the agent of a host was given."""

    token: str = field(repr=False)
    document_key: DocumentKey = field(repr=False)
    report_key: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """An organisation with its datastore and hosts."""

    organisation: Organisation
    operator: AbstractBaseUser
    datastore: Resource
    secrets: dict[str, Secrets]


def stated_fleet(hosts: int) -> Fleet:
    """State it; all hosts begin without a policy."""
    organisation = Organisation.objects.create(slug="simulated", name="Simulated")
    operator = get_user_model().objects.create_user(username="operator")
    Membership.objects.create(organisation=organisation, user=operator, role=Role.ADMIN)
    names = [f"h{number}" for number in range(1, hosts + 1)]
    datastore = inventory.add_resource(
        organisation=organisation,
        name="ds",
        kind=ResourceKind.DATASTORE,
        attachments=[(name, DISK_NAME) for name in names],
        capacity=CAPACITY_IOPS,
    )
    for name in names:
        for workload in WORKLOADS:
            inventory.set_allocation(
                resource=datastore,
                workload_name=f"{workload}-{name}",
                host_name=name,
                adapter_kind=AdapterKind.CGROUP,
                adapter=f"{SUBTREE}/{workload}",
            )
    secrets = {
        name: _enrolled(organisation, name, is_old=number % _EVERY_OLD == 0)
        for number, name in enumerate(names, start=1)
    }
    return Fleet(
        organisation=organisation, operator=operator, datastore=datastore, secrets=secrets
    )


def _enrolled(organisation: Organisation, name: str, *, is_old: bool) -> Secrets:
    given = enroll(organisation=organisation, host_name=name, lease_s=LEASE_S)
    if is_old:
        AgentKey.objects.filter(host=given.host).delete()
        Enforcer.objects.filter(host=given.host).update(signing_key=_OLD_SECRET)
        return Secrets(token=given.token, document_key=_OLD_SECRET.encode(), report_key=None)
    public = bytes.fromhex(given.server_key.removeprefix("ed25519-public:"))
    return Secrets(
        token=given.token,
        document_key=ServerKey(public=public),
        report_key=bytes.fromhex(given.report_key.removeprefix("ed25519-secret:")),
    )


class People:
    """What operators and the scheduler of rollouts do, as the run's chance says."""

    def __init__(self, fleet: Fleet, rng: random.Random, now: Callable[[], datetime]) -> None:
        self._fleet, self._rng, self._now = fleet, rng, now

    def acts(self) -> dict[str, Callable[[], object]]:
        """By name, all that people do."""
        return {
            "approves a policy": self.approve,
            "rolls back": self._roll_back,
            "hurries a rollout": self._hurry,
            "tries policies dry": lambda: self._dry_run(True),
            "ends dry runs": lambda: self._dry_run(False),
        }

    def approve(self) -> None:
        """A policy of limits that a person composed."""
        rows = [
            {
                "allocation": one.pk,
                "workload": one.workload.name,
                "reservation": 0.0,
                "limit": (limit := self._rng.choices(LIMITS, _WEIGHTS)[0]),
                "shares": 1000,
                "entitlement": min(limit or CAPACITY_IOPS, 300.0),
            }
            for one in Allocation.objects.filter(resource=self._fleet.datastore)
            .select_related("workload")
            .order_by("pk")
        ]
        now = self._now()
        draft = Recommendation(
            organisation=self._fleet.organisation,
            resource=self._fleet.datastore,
            kind=DRAFT,
            summary="Limits",
            inputs=json.dumps({"capacity": CAPACITY_IOPS}),
            answer=json.dumps({"allocations": rows}),
            created_at=now,
            expires_at=now + timedelta(hours=24),
        )

        def stated_and_approved() -> None:
            draft.save()
            approve(recommendation=draft, user=self._fleet.operator, now=now)

        _if_allowed(stated_and_approved)

    def end_trials(self) -> None:
        """All hosts enforce again, and get the newest version."""
        self._dry_run_all(False)
        while self._open_stage() is not None:
            self._hurry()

    def look_at_rollouts(self) -> None:
        """What the scheduler does each minute."""
        for rollout in open_rollouts(now=self._now()):
            advance(rollout=rollout, now=self._now())

    def _roll_back(self) -> None:
        _if_allowed(
            lambda: rollback(
                resource=self._fleet.datastore, user=self._fleet.operator, now=self._now()
            )
        )

    def _hurry(self) -> None:
        rollout = self._open_stage()
        if rollout is not None:
            go_on(rollout=rollout, user=self._fleet.operator, now=self._now())

    def _open_stage(self) -> PolicyRollout | None:
        """The rollout of which not all hosts have had their turn."""
        newest = PolicyRollout.objects.filter(policy__resource=self._fleet.datastore)
        rollout = newest.order_by("-policy__version").first()
        return rollout if rollout is not None and rollout.is_partial else None

    def _dry_run(self, is_dry: bool) -> None:
        names = sorted(self._fleet.secrets)
        name = self._rng.choice(names)
        Enforcer.objects.filter(host=_host(self._fleet, name)).update(dry_run=is_dry)

    def _dry_run_all(self, is_dry: bool) -> None:
        Enforcer.objects.filter(host__organisation=self._fleet.organisation).update(dry_run=is_dry)


def _host(fleet: Fleet, name: str) -> Host:
    return Host.objects.get(organisation=fleet.organisation, name=name)


def _if_allowed(decide: Callable[[], object]) -> None:
    """People try; what the product refuses is refused."""
    try:
        with transaction.atomic():
            decide()
    except AdvisorError:
        return
