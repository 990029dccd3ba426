"""Let a host join by a token: its agent is enrolled, and what it needs is handed to it once.

A host that is known already is nobody's to take: a name is free, or the host shows the token that
its agent has, or the join token was made for this very host.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accounts.actor import Actor
from accounts.errors import AlreadyExists, JoinRefused
from accounts.models import Collects, JoinMode, JoinToken, Organisation, Scope, Token
from accounts.roles import Role
from accounts.services.audit import record
from accounts.services.join_tokens import check_host_name, find_join_token, spend
from advisor.decisions.agent_configuration import READER_TABLE, SERVER_FILES, configuration_text
from advisor.decisions.enrolment import enroll, issue_reader_token
from ingest.models import Host, HostJoin


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What a host says when it joins; `agent_token` is empty where it has no agent yet.

    `collects` is what reads its samples, which need not be what was asked for: `why_collects`
    says why. `interfaces`, `disks` and `subtrees` are what its agent may change once a policy
    says so, `interval_s` is between two samples; None leaves it to the agent.
    """

    host_name: str
    url: str
    address: str = ""
    agent_token: str = field(default="", repr=False)
    clock: datetime | None = None
    collects: Collects = Collects.READER
    why_collects: str = ""
    system: str = ""
    kernel: str = ""
    cgroups: str = ""
    runs: str = ""
    interfaces: tuple[str, ...] = ()
    disks: tuple[str, ...] = ()
    subtrees: tuple[str, ...] = ()
    interval_s: int | None = None
    state_dir: str = ""
    has_ca_file: bool = False

    def said(self) -> dict[str, Any]:
        """What is kept of it, for people."""
        return {
            "system": self.system,
            "kernel": self.kernel,
            "cgroups": self.cgroups,
            "runs": self.runs,
            "collects": self.collects,
            "why_collects": self.why_collects,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The host, and the files of its agent by name; none for one that has them already."""

    host: Host
    mode: JoinMode
    files: dict[str, str] = field(repr=False)


@transaction.atomic
def join(*, secret: str, asking: Asking, now: datetime) -> Joined:
    """Connect a host, or say that it is connected.

    Raises JoinRefused and AlreadyExists, and EnrolmentRefused if nobody signs now.
    """
    token = find_join_token(secret, now=now)
    organisation = Organisation.objects.get(pk=token.organisation_id)
    check_host_name(asking.host_name)
    if token.host_name not in ("", asking.host_name):
        raise JoinRefused(
            f'this line is for the host "{token.host_name}", and this one calls itself '
            f'"{asking.host_name}"; if they are one, set SLUICE_HOST={token.host_name}'
        )
    by = Actor(
        name=f"join token {token.pk} of {token.made_by}"[:150],
        role=Role.ADMIN,
        address=asking.address,
    )
    known = _known(organisation, asking, now=now)
    if known is not None:
        _note(token, known, asking, now=now)
        return Joined(host=known, mode=JoinMode(token.mode), files={})
    if asking.agent_token and not token.host_name:
        raise AlreadyExists(
            "this machine has an agent already, which this organisation does not know; "
            "remove that one first, or make a line for this one host under Hosts"
        )
    host = _claimed(organisation, token, asking.host_name)
    spend(token, now=now)
    files = _files(host, token, asking, by)
    _note(token, host, asking, now=now)
    record(
        organisation=organisation, actor=by, action="join", subject=host.name, now=now,
        details={"join_token": token.pk, "mode": token.mode, "system": asking.system},
    )  # fmt: skip
    return Joined(host=host, mode=JoinMode(token.mode), files=files)


def _known(organisation: Organisation, asking: Asking, *, now: datetime) -> Host | None:
    """The host whose agent asks again; None where nobody showed its token."""
    if not asking.agent_token:
        return None
    token = Token.objects.valid(asking.agent_token, now=now)
    # Another organisation's host of the same name is another host.
    is_own = token is not None and token.organisation_id == organisation.pk
    if token is None or not is_own or token.scope != Scope.ENFORCE or token.host_id is None:
        return None
    host = Host.objects.get(pk=token.host_id)
    if host.name != asking.host_name:
        raise AlreadyExists(
            f'the agent of this machine is enrolled as "{host.name}"; to keep it so, set '
            f"SLUICE_HOST={host.name}, otherwise remove the agent first"
        )
    return host


def _claimed(organisation: Organisation, token: JoinToken, name: str) -> Host:
    """A new host; or the one that the token was made for, as it is."""
    if token.host_name:
        return Host.objects.get_or_create(organisation=organisation, name=name)[0]
    try:
        with transaction.atomic():
            return Host.objects.create(organisation=organisation, name=name)
    except IntegrityError as error:
        raise AlreadyExists(
            f'a host "{name}" is known already, and stays as it is. If this machine is that '
            f"host, make a line for it under Hosts, with its name; if it is another one, give it "
            f"a name of its own: put SLUICE_HOST=NAME before sh"
        ) from error


def _files(host: Host, token: JoinToken, asking: Asking, by: Actor) -> dict[str, str]:
    enrolment = enroll(organisation=host.organisation, host_name=host.name, by=by)
    return {
        "agent.toml": _configuration(host, token, asking),
        **enrolment.files(),
        "ingest-token": issue_reader_token(host=host, by=by),
    }


def _configuration(host: Host, token: JoinToken, asking: Asking) -> str:
    agent: dict[str, Any] = {"host": host.name, "dry_run": token.mode == JoinMode.OBSERVE}
    if asking.state_dir:
        agent["state_dir"] = asking.state_dir
    server: dict[str, Any] = {"url": asking.url, **SERVER_FILES}
    if asking.has_ca_file:
        server["ca_file"] = "ca.pem"
    tables: dict[str, dict[str, Any]] = {"agent": agent, "server": server}
    if asking.collects == Collects.READER:
        tables["reader"] = dict(READER_TABLE)
        if asking.interval_s is not None:
            tables["reader"]["interval_s"] = asking.interval_s
    tables["tc_htb"] = {"interfaces": list(asking.interfaces)}
    tables["cgroup_io"] = {"subtrees": list(asking.subtrees), "devices": list(asking.disks)}
    return configuration_text(tables)


def _note(token: JoinToken, host: Host, asking: Asking, *, now: datetime) -> None:
    ahead_s = None if asking.clock is None else (asking.clock - now).total_seconds()
    HostJoin.objects.update_or_create(
        token=token,
        host=host,
        defaults={
            "organisation_id": host.organisation_id,
            "at": now,
            "address": asking.address,
            "clock_ahead_s": ahead_s,
            "said": asking.said(),
        },
    )
