"""The sample's organisation: made with what people would have stated of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.models import Membership, Organisation, Role, Token
from accounts.models.token import Scope
from advisor.decisions.discovery import discover
from advisor.decisions.enrolment import enroll
from advisor.decisions.policy_file.apply import apply_policy_file, plan_policy_file
from advisor.decisions.policy_file.decide.read import read_policy_file
from advisor.models import RolloutTerms
from appliance.embedded.child import ChildSpec
from appliance.embedded.errors import EmbeddedError
from appliance.sample.fleet import (
    AGENTS_FILE,
    HOSTS,
    ORGANISATION,
    ORGANISATION_NAME,
    STATE_FILE,
    TOKEN_FILE,
    UNTIL_NOW,
    policy_file,
)
from config.paths import DataDir

COLLECTOR_NAME = "sample hosts"
HISTORY_TIMEOUT_S = 600.0
STAGE_S, SETTLE_S = 60.0, 20.0


def sample_hosts(data: DataDir) -> ChildSpec:
    """The program that sends what the sample's hosts would, to the organisation of its token."""
    data.sample.mkdir(mode=0o700, exist_ok=True)
    organisation, is_new = make_sample()
    if is_new:
        (data.sample / STATE_FILE).unlink(missing_ok=True)
    _keep_token(data.sample / TOKEN_FILE, organisation)
    _keep_agents(data.sample / AGENTS_FILE, organisation)
    return ChildSpec(
        name="sample",
        argv=(
            sys.executable,
            "-m",
            "appliance.sample.play",
            str(data.sample),
            str(data.web_socket),
        ),
        log=data.logs / "sample.log",
        environment={"SLUICE_DATA_DIR": str(data.root), "PYTHONUNBUFFERED": "1"},
        needs=("web",),
        essential=False,
    )


def send_history(sample: ChildSpec) -> None:
    """Send what its hosts would have sent up to now; raises EmbeddedError."""
    with sample.log.open("ab") as log:
        ended = subprocess.run(
            [*sample.argv, UNTIL_NOW],
            env={**os.environ, **sample.environment},
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=HISTORY_TIMEOUT_S,
            check=False,
        )
    if ended.returncode:
        raise EmbeddedError(f"the sample's history could not be sent; see {sample.log}")
    # The past is judged once, so who took part in it has to be known before.
    for organisation in Organisation.objects.filter(slug=ORGANISATION):
        discover(organisation=organisation)


@transaction.atomic
def make_sample() -> tuple[Organisation, bool]:
    """The organisation, owned by those who may do everything, and whether it is new.

    One that is there goes on as it is.
    """
    known = Organisation.objects.filter(slug=ORGANISATION).first()
    if known is not None:
        # One that a former release made did not say what it is.
        Organisation.objects.filter(pk=known.pk).update(is_sample=True)
        return known, False
    organisation = Organisation.objects.create(
        slug=ORGANISATION, name=ORGANISATION_NAME, is_sample=True
    )
    Membership.objects.bulk_create(
        Membership(organisation=organisation, user=user, role=Role.OWNER)
        for user in get_user_model().objects.filter(is_superuser=True, is_active=True)
    )
    # Who goes through the tour does not wait for stages as long as those of real hosts.
    RolloutTerms.objects.create(organisation=organisation, stage_s=STAGE_S, settle_s=SETTLE_S)
    now = timezone.now()
    read = read_policy_file(policy_file(), file="northgate.yaml")
    changes = plan_policy_file(organisation, read, now=now)
    apply_policy_file(organisation, read, expected=changes, actor=COMMAND_LINE, now=now)
    return organisation, True


def _keep_token(path: Path, organisation: Organisation) -> None:
    """The secret at path stays while it is one of the organisation; else it is a new one."""
    if path.is_file():
        token = Token.objects.valid(path.read_text(), now=timezone.now())
        if token is not None and token.organisation_id == organisation.pk:
            return
    _, secret = Token.objects.issue(
        organisation=organisation, scope=Scope.INGEST, name=COLLECTOR_NAME
    )
    _write_secret(path, secret)


def _keep_agents(path: Path, organisation: Organisation) -> None:
    """The agents' secrets at path stay while all are valid; else each host has a new one."""
    if path.is_file():
        now = timezone.now()
        kept = json.loads(path.read_text())
        # Those of a former release had a token alone.
        secrets = {host: one["token"] for host, one in kept.items() if isinstance(one, dict)}
        tokens = {host: Token.objects.valid(secret, now=now) for host, secret in secrets.items()}
        own = {host for host, one in tokens.items() if one and one.organisation == organisation}
        if own == set(HOSTS):
            return
    made = {host: enroll(organisation=organisation, host_name=host).files() for host in HOSTS}
    _write_secret(path, json.dumps(made))


def _write_secret(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)
