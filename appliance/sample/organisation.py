"""The sample's organisation: made with what people would have stated of it."""

from __future__ import annotations

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
from advisor.decisions.policy_file.apply import apply_policy_file, plan_policy_file
from advisor.decisions.policy_file.decide.read import read_policy_file
from appliance.embedded.child import ChildSpec
from appliance.embedded.errors import EmbeddedError
from appliance.sample.fleet import (
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


def sample_hosts(data: DataDir) -> ChildSpec:
    """The program that sends what the sample's hosts would, to the organisation of its token."""
    data.sample.mkdir(mode=0o700, exist_ok=True)
    organisation, is_new = make_sample()
    if is_new:
        (data.sample / STATE_FILE).unlink(missing_ok=True)
    _keep_token(data.sample / TOKEN_FILE, organisation)
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
        return known, False
    organisation = Organisation.objects.create(slug=ORGANISATION, name=ORGANISATION_NAME)
    Membership.objects.bulk_create(
        Membership(organisation=organisation, user=user, role=Role.OWNER)
        for user in get_user_model().objects.filter(is_superuser=True, is_active=True)
    )
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
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(secret)
