"""Commands on another machine than the server, as the person of a token."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.models import Token
from advisor.models import MaintenanceWindow, Policy, Recommendation
from ingest.partitions import TABLES
from sluice_client.api import Api, ResourceChange
from sluice_client.connection import ApiError, Connection
from tests.web.api.asking import program_of
from tests.web.fleet import Fleet
from tests.web.scenario import noisy_neighbour

SLUICE = Path(sys.executable).with_name("sluice")
Sluice = subprocess.CompletedProcess[str]


@pytest.fixture
def committed(transactional_db: None) -> Iterator[Fleet]:
    """The noisy neighbour as a server in another thread sees it."""
    yield noisy_neighbour(timezone.now(), hours=1.5)
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"TRUNCATE {table}")


class Elsewhere:
    """A machine without a database."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home = home
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "REDIS_URL")
        }
        self.environment = kept | {
            "HOME": str(home), "XDG_CONFIG_HOME": "", "SLUICE_DATA_DIR": str(home / "data"),
        } | environment  # fmt: skip

    def __call__(self, *words: str, said: str = "") -> Sluice:
        return subprocess.run(
            [SLUICE, *words], env=self.environment, input=said, text=True,
            capture_output=True, check=False, timeout=60,
        )  # fmt: skip


@pytest.fixture
def secret(committed: Fleet) -> str:
    return program_of(committed.people.operator, committed.organisation).secret


@pytest.fixture
def sluice(secret: str, live_server: LiveServer, tmp_path: Path) -> Elsewhere:
    return Elsewhere(tmp_path, SLUICE_SERVER=live_server.url, SLUICE_TOKEN=secret)


def test_commands_show_what_they_show_on_the_server(committed: Fleet, sluice: Elsewhere) -> None:
    advice = Recommendation.objects.get(topic="policy")
    here = StringIO()
    call_command("recommendations", str(advice.pk), "--organisation", "northgate", stdout=here)

    status, listed = sluice("status"), sluice("recommendations", "--json")
    shown, incidents = sluice("recommendations", str(advice.pk)), sluice("incidents", "--open")

    assert status.returncode == 1, status.stderr
    assert "nfs-07" in status.stdout
    assert [row["id"] for row in json.loads(listed.stdout)] == [advice.pk]
    assert shown.stdout.strip() in here.getvalue()
    assert "db-orders" in incidents.stdout


def test_commands_decide_as_the_person_of_the_token(committed: Fleet, sluice: Elsewhere) -> None:
    advice = Recommendation.objects.get(topic="policy")

    approved = sluice("approve", str(advice.pk), "--json")
    again = sluice("reject", str(advice.pk), "--reason", "late")
    back = sluice("rollback", "nfs-07")

    assert json.loads(approved.stdout)["version"] == 1
    assert (again.returncode, again.stdout) == (1, "")
    assert "is approved and can no longer be decided: " in again.stderr
    assert back.returncode == 0, back.stderr
    made = Policy.objects.filter(resource=advice.resource_id)
    assert {one.created_by for one in made} == {committed.people.operator}
    assert made.count() == 2


def test_policy_file_is_exported_planned_and_applied(committed: Fleet, sluice: Elsewhere) -> None:
    file = sluice.home / "site.yaml"
    before = sluice("export", "--output", str(file))
    nothing = sluice("plan", str(file))
    file.write_text(
        "sluice: 1\nmaintenance:\n- {name: backup, start: 2026-11-20T10:00, length: 2h}\n"
    )

    planned = sluice("plan", str(file))
    applied = sluice("apply", str(file))
    file.write_text("sluice: 1\nmaintenance: []\n")
    unasked = sluice("apply", str(file), "--allow-removals")
    half = sluice("apply", str(file), "--yes")

    assert (before.returncode, nothing.returncode, planned.returncode) == (0, 0, 3)
    assert "maintenance window backup" in planned.stdout
    assert applied.returncode == 0, applied.stderr
    assert unasked.returncode == 1
    assert "nobody can be asked" in unasked.stderr
    assert "removes 1 of 1 things" in half.stderr
    assert MaintenanceWindow.objects.get().name == "backup"
    assert sluice("apply", str(file), "--yes", "--allow-removals").returncode == 0
    assert not MaintenanceWindow.objects.exists()


def test_login_keeps_the_token_for_its_person_alone(
    committed: Fleet, secret: str, live_server: LiveServer, tmp_path: Path
) -> None:
    sluice = Elsewhere(tmp_path)

    wrong = sluice("login", live_server.url, said="slu_wrong\n")
    right = sluice("login", live_server.url, said=f"{secret}\n")
    file = tmp_path / ".config/sluice/login.json"
    mode = stat.S_IMODE(file.stat().st_mode)
    works = sluice("incidents")
    elsewhere = sluice("allocation", "list")
    sluice("logout")

    assert (wrong.returncode, right.returncode) == (1, 0)
    assert "You are operator, operator of northgate" in right.stdout
    assert secret not in right.stdout + right.stderr
    assert mode == 0o600
    assert works.returncode == 0, works.stderr
    assert "works on the server itself" in elsewhere.stderr
    assert not file.exists()


def test_revoked_token_and_half_a_login_are_told(sluice: Elsewhere, tmp_path: Path) -> None:
    Token.objects.update(revoked_at=timezone.now())
    revoked = sluice("status")
    del sluice.environment["SLUICE_TOKEN"]

    half = sluice("status")

    # Of a status 1 would be an alarm.
    assert (revoked.returncode, half.returncode) == (4, 4)
    assert "unknown, revoked or expired" in revoked.stderr
    assert "SLUICE_TOKEN is not" in half.stderr


def test_client_changes_what_it_saw(
    committed: Fleet, secret: str, live_server: LiveServer
) -> None:
    api = Api(Connection(live_server.url, secret))
    (row,) = api.list_resources(name="nfs-07").items
    api.get_resource(row.id)
    seen = api.connection.etag

    changed = api.change_stated_resource(row.id, ResourceChange(threshold=21.0), if_match=seen)
    with pytest.raises(ApiError) as raised:
        api.change_stated_resource(row.id, ResourceChange(threshold=22.0), if_match=seen)

    assert changed.stated_threshold == 21.0
    assert (raised.value.status, raised.value.code) == (412, "changed_meanwhile")
