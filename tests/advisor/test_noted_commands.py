"""What a command on the server states is in the audit chain; what only shows is not."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from accounts.models.audit import AuditEntry
from accounts.services.audit import verify
from advisor.models import Resource
from tests.advisor.scenario import Cluster, make_cluster

pytestmark = pytest.mark.django_db

ADD = "resource add lun-9 --kind datastore --capacity 2000 --threshold 20 --at h1:sdz"
ALLOCATE = "allocation set h1/up0 web-9 --vnic vnet9 --host h1"
WINDOW = "maintenance add backup --start 2026-11-21T22:00 --length 2h"
STATED = [
    (ADD, "state resource", "lun-9"),
    ("resource set h1/up0 --capacity 50Mbit", "change resource", "h1/up0"),
    ("resource remove h1/up0", "remove resource", "h1/up0"),
    (ALLOCATE, "state allocation", "web-9 on h1/up0"),
    ("allocation remove h1/up0 web-1", "remove allocation", "web-1 on h1/up0"),
    ("pool set h1/up0 web --member web-1", "state pool", "web on h1/up0"),
    (WINDOW, "state maintenance window", "backup"),
    ("alarm-budget 3", "state alarm budget", "3.0"),
    ("quota set --hosts 12", "set quotas", "hosts 12"),
    ("history keep --day-days 400", "state retention", "stored history"),
    ("enroll h1 --out OUT --url http://127.0.0.1:1", "enroll agent", "h1"),
]
SHOWN = [
    "resource",
    "allocation",
    "pool",
    "maintenance",
    "rules",
    "alarm-budget",
    "quota",
    "history",
]


@pytest.fixture(autouse=True)
def cluster() -> Cluster:
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    return cluster


def sluice(text: str, out: Path) -> None:
    call_command(*text.replace("OUT", str(out)).split(), stdout=StringIO())


@pytest.mark.parametrize(("command", "action", "subject"), STATED)
def test_statement_is_told_with_who_made_it(
    command: str, action: str, subject: str, tmp_path: Path
) -> None:
    sluice(command, tmp_path)

    (entry,) = AuditEntry.objects.all()
    assert (entry.actor, entry.action, entry.subject) == ("command line", action, subject)
    assert verify(entry.organisation).broken is None


@pytest.mark.parametrize("command", SHOWN)
def test_what_only_shows_is_not_told(command: str, tmp_path: Path) -> None:
    sluice(command, tmp_path)

    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    "command",
    [
        "resource add h1/up0 --kind uplink --at h1:up0",
        "resource remove nothing",
        "pool set h1/up0 web --member nobody",
        "maintenance remove nothing",
    ],
)
def test_what_is_refused_is_not_told(command: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        sluice(command, tmp_path)

    assert not AuditEntry.objects.exists()


def test_rules_are_told_by_their_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("tier: high where name ~ web-*\n")

    sluice(f"rules set {file}", tmp_path)

    assert AuditEntry.objects.get().subject == str(file)


def test_nothing_is_stated_without_being_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("the chain cannot be written")

    monkeypatch.setattr("accounts.management.product_command.record", refuse)

    with pytest.raises(OSError, match="the chain cannot be written"):
        sluice(ADD, tmp_path)

    assert not Resource.objects.filter(name="lun-9").exists()
