"""Four hosts as network namespaces with the real agent, which share one stated capacity.

On each a workload of the high tier and one of the low send by TCP all that their vNICs let
through. An uplink of several hosts is none that people can state: it is made here so that HTB
enforces one policy on all of them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Membership, Role
from advisor.decisions import inventory
from advisor.decisions.decide import approve
from advisor.decisions.rollouts.advance import advance, open_rollouts
from advisor.models import (
    AdapterKind,
    Allocation,
    Attachment,
    PolicyRollout,
    Recommendation,
    Resource,
    ResourceKind,
)
from advisor.pipeline.score import recent_predictions, score_recommendation
from ingest.models import Host
from tests.host.network import SENDER, SINK, Network, network
from tests.testbed.conftest import Laboratory

HOSTS = ("r1", "r2", "r3", "r4")
MBIT = 1e6
CAPACITY = 9 * MBIT
VNIC = 6 * MBIT
PROMISED = 1.5 * MBIT
TIERS = ("high", "low")
CHECKOUT = Path(__file__).parents[3]


@dataclass
class Site:
    """The hosts with their agents, and the service that rolls policies out to them."""

    laboratory: Laboratory
    owner: AbstractBaseUser
    uplink: Resource
    allocations: list[Allocation]
    networks: dict[str, Network]
    agents: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def approve(self, *, high_limit: float | None, shares: tuple[int, int]) -> PolicyRollout:
        """A policy with this limit of the high tier, and these shares of high and low."""
        rows = [self._row(one, high_limit, shares) for one in self.allocations]
        now = timezone.now()
        advice = Recommendation.objects.create(
            organisation=self.uplink.organisation,
            resource=self.uplink,
            kind="shares",
            summary="Shares for the high tier",
            inputs="{}",
            answer=json.dumps(
                {
                    "allocations": rows,
                    "evidence": {"capacity": CAPACITY},
                    "confidence": {"value": 0.8},
                }
            ),
            created_at=now,
            expires_at=now + timedelta(hours=1),
        )
        policy = approve(recommendation=advice, user=self.owner, now=now)
        assert policy is not None
        return policy.rollout

    def _row(
        self, one: Allocation, high_limit: float | None, shares: tuple[int, int]
    ) -> dict[str, object]:
        is_high = one.workload.tier == "high"
        limit = high_limit if is_high else None
        reserved = min(PROMISED, limit or PROMISED) if is_high else 0.0
        # The high tier has all that its vNIC lets through, and the low one what is left.
        foretold = (limit or VNIC) if is_high else CAPACITY - VNIC
        return {
            "allocation": one.pk,
            "workload": one.workload.name,
            "host": one.host.name,
            "reservation": reserved,
            "limit": limit,
            "shares": shares[0] if is_high else shares[1],
            "entitlement": reserved or 0.5 * MBIT,
            "predicted_before": VNIC,
            "predicted_after": foretold,
        }

    def look(self) -> None:
        """What the scheduler does."""
        now = timezone.now()
        for rollout in open_rollouts(now=now).select_related("policy"):
            advance(rollout=rollout, now=now)
        for advice in recent_predictions(now=now).select_related("resource"):
            score_recommendation(recommendation=advice, now=now)

    def kernel(self, host: str) -> str:
        """All that is set on the host's uplink."""
        return self.networks[host].settings()

    def shaped(self) -> tuple[str, ...]:
        """The hosts on which the agent's tree stands."""
        return tuple(name for name in HOSTS if "htb 51ce:" in self.kernel(name))

    def high_limits(self) -> dict[str, float | None]:
        """The ceiling of the high tier's class on each host, in Mbit/s; None without a tree."""
        return {name: _least_ceiling_mbit(self.kernel(name)) for name in HOSTS}


def _least_ceiling_mbit(shown: str) -> float | None:
    """Of the classes of workloads, which are leaves."""
    found = re.findall(r"class htb \S+ parent \S+ leaf \S+ .*?ceil (\d+)(Kbit|Mbit|bit)", shown)
    units = {"Mbit": 1.0, "Kbit": 1e-3, "bit": 1e-6}
    return min((float(number) * units[unit] for number, unit in found), default=None)


@contextmanager
def site(laboratory: Laboratory) -> Iterator[Site]:
    """All hosts at work, and their agents enrolled; at the end everything is gone."""
    with ExitStack() as stack:
        networks = {name: stack.enter_context(network(2, label=name)) for name in HOSTS}
        built = _stated(laboratory, networks)
        try:
            for name in HOSTS:
                _send(built, name)
                built.agents.append(_start_agent(built, name))
            yield built
        finally:
            for agent in built.agents:
                agent.terminate()
            for agent in built.agents:
                agent.wait(30)


def _stated(laboratory: Laboratory, networks: dict[str, Network]) -> Site:
    organisation = laboratory.tenant.organisation
    owner = get_user_model().objects.create_user("owner")
    Membership.objects.create(organisation=organisation, user=owner, role=Role.OWNER)
    uplink = inventory.add_resource(
        organisation=organisation,
        name="uplinks",
        kind=ResourceKind.UPLINK,
        attachments=[(HOSTS[0], "up0")],
        capacity=CAPACITY,
        window_s=1.0,
    )
    for name in HOSTS[1:]:
        host = Host.objects.create(organisation=organisation, name=name)
        Attachment.objects.create(resource=uplink, host=host, device="up0")
    allocations = [
        inventory.set_allocation(
            resource=uplink,
            workload_name=f"{tier}-{name}",
            host_name=name,
            adapter_kind=AdapterKind.VNIC,
            adapter=f"p{number}",
            tier=tier,
            reservation=PROMISED if tier == "high" else 0.0,
        )
        for name in HOSTS
        for number, tier in enumerate(TIERS, start=1)
    ]
    return Site(
        laboratory=laboratory,
        owner=owner,
        uplink=uplink,
        allocations=allocations,
        networks=networks,
    )


def _send(built: Site, host: str) -> None:
    """Both workloads send as much as their vNICs let through."""
    own = built.networks[host]
    own.start(own.sink, SINK)
    for number in own.numbers:
        narrow = f"tc -n {own.workload(number)} qdisc replace dev e0 root tbf"
        subprocess.run(
            [*narrow.split(), *f"rate {VNIC:.0f}bit burst 15kb latency 50ms".split()], check=True
        )
        own.start(own.workload(number), SENDER)


def _start_agent(built: Site, host: str) -> subprocess.Popen[bytes]:
    """Enrolled by the command that people use, and told the socket of the service."""
    folder = built.laboratory.folder / host
    call_command(
        "enroll", host, "--organisation", built.uplink.organisation.slug, "--out", str(folder),
        "--state-dir", str(folder / "state"), "--reader", "--poll", "1", "--report", "2",
    )  # fmt: skip
    file = folder / "agent.toml"
    text = file.read_text().replace(
        "[server]\n", f'[server]\nsocket = "{built.laboratory.server.socket}"\n'
    )
    file.write_text(text.replace("[reader]\n", "[reader]\ninterval_s = 1\n"))
    command: Sequence[str] = (
        "ip", "netns", "exec", built.networks[host].host,
        sys.executable, "-m", "enforcers", "run", "--config", str(file),
    )  # fmt: skip
    with (folder / "agent.log").open("ab") as log:
        return subprocess.Popen(command, cwd=CHECKOUT, stderr=log)
