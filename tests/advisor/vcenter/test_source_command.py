"""`sluice source`: the same by command."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from accounts.models import AuditEntry, Organisation
from advisor.models import ReadSource
from tests.advisor.vcenter.certificates import own_certificate
from tests.advisor.vcenter.small_vcenter import PASSWORD, USER, small_vcenter

pytestmark = pytest.mark.django_db

URL = "https://vc.example.org"


@pytest.fixture(autouse=True)
def acme(monkeypatch: pytest.MonkeyPatch) -> Organisation:
    monkeypatch.setenv("SLUICE_VCENTER_PASSWORD", PASSWORD)
    return Organisation.objects.create(slug="acme", name="Acme")


def source(*words: str | Path) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("source", *map(str, words), "--json", stdout=out, stderr=StringIO())
    found: list[dict[str, Any]] = json.loads(out.getvalue())
    return found


def add(name: str = "main", address: str = URL, *more: str | Path) -> list[dict[str, Any]]:
    return source("add", name, address, "--user", USER, *more)


def refused(*words: str | Path) -> str:
    with pytest.raises(CommandError) as refusal:
        source(*words)
    return str(refusal.value)


def test_source_is_added_listed_paused_resumed_removed_and_put_back() -> None:
    (row,) = add("main", URL, "--every", "15", "--take-over")
    assert (row["name"], row["address"], row["every_min"]) == ("main", URL, 15)
    assert row["takes_over"] is True
    assert PASSWORD not in json.dumps(row)
    assert ReadSource.objects.get().password == PASSWORD

    assert source("pause", "main")[0]["paused_at"] is not None
    assert source("resume", "main")[0]["paused_at"] is None
    assert source("remove", "main") == []
    assert [one["name"] for one in source("put-back", "main")] == ["main"]

    by = set(AuditEntry.objects.values_list("actor", flat=True))
    assert by == {"command line"}


def test_password_comes_from_a_file_or_stays(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("of the file\n")

    add("main", URL, "--password-file", file)
    add("main", URL, "--keep-password", "--every", "30")

    assert ReadSource.objects.get().password == "of the file"
    assert "cannot be read" in refused(
        "add", "b", URL, "--user", USER, "--password-file", tmp_path / "none"
    )


def test_test_says_what_came_of_it(settings: Settings, tmp_path: Path) -> None:
    settings.SOURCE_ADDRESSES = "any"
    own_certificate(tmp_path / "server.pem")
    with small_vcenter(tmp_path / "server.pem") as vcenter:
        add("unknown", vcenter.url)
        add("known", vcenter.url, "--ca-file", tmp_path / "server.pem")

        assert "is not trusted" in refused("test", "unknown")
        rows = {one["name"]: one for one in source("test", "known")}

    assert rows["known"]["test_worked"] is True
    assert "lets reader@vsphere.local in" in rows["known"]["test_says"]
    assert rows["unknown"]["test_worked"] is False


@pytest.mark.parametrize("verb", ["test", "pause", "resume", "remove"])
def test_name_that_is_not_there_is_told(verb: str) -> None:
    assert 'there is no source "main"' in refused(verb, "main")
    assert "was removed in the last day" in refused("put-back", "main")


def test_refusal_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "unprotected" in refused("add", "main", "http://vc.example.org", "--user", USER)
    monkeypatch.delenv("SLUICE_VCENTER_PASSWORD")
    assert "there is no password" in refused("add", "main", URL, "--user", USER)
    assert not ReadSource.objects.exists()


K8S = "https://k.example.org:6443"


def test_cluster_is_added_by_a_token_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("of-a-reader\n")
    (row,) = source("add-kubernetes", "k8s", K8S, "--token-file", file)
    assert (row["kind"], row["user"], row["tier_label"]) == ("kubernetes", None, "sluice.io/tier")
    assert "of-a-reader" not in json.dumps(row)

    source("add-kubernetes", "k8s", K8S, "--keep-token", "--tier-label", "", "--take-over")

    kept = ReadSource.objects.get()
    assert (kept.password, kept.tier_label, kept.takes_over) == ("of-a-reader", "", True)
    assert "there is no token" in refused("add-kubernetes", "other", K8S)
    monkeypatch.setenv("SLUICE_KUBERNETES_TOKEN", "of-the-environment")
    source("add-kubernetes", "other", K8S)
    assert ReadSource.objects.get(name="other").password == "of-the-environment"


def test_own_cluster_is_for_organisations_that_the_installation_names(settings: Settings) -> None:
    words = ("add-kubernetes", "here", "https://kubernetes.default.svc", "--own-account")
    assert "SLUICE_CLUSTER_ORGANISATIONS names" in refused(*words)

    settings.CLUSTER_ORGANISATIONS = ["acme"]
    (row,) = source(*words)

    assert row["kind"] == "kubernetes"
    assert not ReadSource.objects.get().has_password
