"""Hosts that join by a token: what they get, what is refused, and that nobody is taken over."""

from __future__ import annotations

import io
import re
import tarfile
import tomllib
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from accounts.authentication import authenticate
from accounts.models import AuditEntry, JoinToken, Organisation, Scope, Token
from accounts.services.join_tokens import Terms, make_join_token
from advisor.decisions.enrolment import enroll
from advisor.models import AgentKey
from config.database_roles import DatabaseRole
from enforcers import ed25519
from ingest.models import Host, HostJoin
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of
from web.api.v1 import rate_limit
from web.api.v1.rate_limit import Taken

pytestmark = pytest.mark.any_database

FORM = {
    "runs": "service", "mode": "observe", "collects": "reader", "host": "", "hosts": "1",
    "minutes": "30",
}  # fmt: skip
LINE = re.compile(r"curl -fsSL (http://testserver/join/slj_[^ ]+) \| sudo sh")


@pytest.fixture(autouse=True)
def roles(nothing_yet: Fleet) -> None:
    """Hosts ask with the rights of a web server, and within its walls."""
    make_roles()


def made(fleet: Fleet, **terms: Any) -> tuple[JoinToken, str]:
    return make_join_token(organisation=fleet.organisation, terms=Terms(**terms), now=fleet.now)


def join(secret: str, host: str = "h1", *, agent: str = "", **said: str) -> HttpResponse:
    headers = {"Authorization": f"Token {agent}"} if agent else {}
    body = {"host": host, "disks": "sda sdb ", "interfaces": "eth0 ", **said}
    with acting_as(DatabaseRole.WEB):
        return Client(headers=headers).post(f"/join/{secret}", body, secure=True)


def unpacked(answer: HttpResponse) -> dict[str, str]:
    assert answer.status_code == 200, answer.content
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        return {
            one.name: archive.extractfile(one).read().decode("utf-8", "replace")  # type: ignore[union-attr]
            for one in archive
        }


def refused(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, answer.content.decode()


def test_host_gets_its_agent_with_keys_of_its_own(nothing_yet: Fleet) -> None:
    token, secret = made(nothing_yet)

    files = unpacked(join(secret, clock=str(int(nothing_yet.now.timestamp()) - 400)))

    assert "enforcers/entry.py" in files
    configuration = tomllib.loads(files["etc/agent.toml"])
    assert configuration["agent"] == {"host": "h1", "dry_run": True}
    assert configuration["server"]["url"] == "https://testserver"
    assert configuration["tc_htb"]["interfaces"] == ["eth0"]
    assert configuration["cgroup_io"]["devices"] == ["sda", "sdb"]
    for name, scope in (("token", Scope.ENFORCE), ("ingest-token", Scope.INGEST)):
        found = authenticate(f"Token {files[f'etc/{name}']}", scope=scope, now=nothing_yet.now)
        assert found.host is not None
        assert found.host.name == "h1"
    key = AgentKey.objects.get()
    assert files["etc/server-key"] == f"ed25519-public:{key.public_key}"
    report_key = bytes.fromhex(files["etc/report-key"].removeprefix("ed25519-secret:"))
    assert ed25519.public_key(report_key).hex() == key.report_key
    assert "etc/signing-key" not in files
    assert HostJoin.objects.get(token=token).clock_ahead_s == -400
    assert list(AuditEntry.objects.values_list("action", flat=True)) == ["make join token", "join"]


@pytest.mark.parametrize(
    ("said", "interval_s"),
    [("2", 2), ("60", 60), ("0", None), ("61", None), ("-5", None), ("\u0662", None), ("", None)],
)
def test_host_says_how_often_its_agent_reads(
    nothing_yet: Fleet, said: str, interval_s: int | None
) -> None:
    _, secret = made(nothing_yet)

    configuration = tomllib.loads(unpacked(join(secret, interval=said))["etc/agent.toml"])

    assert configuration["reader"].get("interval_s") == interval_s


def test_only_a_hash_of_the_secret_is_stored(nothing_yet: Fleet) -> None:
    _, secret = made(nothing_yet)
    join(secret)

    assert secret not in str(JoinToken.objects.values()) + str(AuditEntry.objects.values())


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda token: {"expires_at": token.created_at}, "expired at 2026-11-20 12:00 UTC"),
        (lambda token: {"revoked_at": token.created_at}, "was revoked"),
        (lambda token: {"hosts_joined": token.most_hosts}, "is used up: it was for 1 host"),
    ],
    ids=["expired", "revoked", "used up"],
)
def test_token_that_is_over_lets_nobody_join(nothing_yet: Fleet, spoil: Any, reason: str) -> None:
    token, secret = made(nothing_yet)
    JoinToken.objects.filter(pk=token.pk).update(**spoil(token))

    status, said = refused(join(secret))

    assert (status, reason in said) == (410, True), said
    assert not Host.objects.exists()


def test_token_lets_as_many_hosts_join_as_it_says(nothing_yet: Fleet) -> None:
    _, secret = made(nothing_yet, most_hosts=2)

    statuses = [join(secret, name).status_code for name in ("h1", "h2", "h3")]

    assert statuses == [200, 200, 410]
    assert set(Host.objects.values_list("name", flat=True)) == {"h1", "h2"}


def test_host_of_a_known_name_takes_nothing_over(nothing_yet: Fleet) -> None:
    known = enroll(organisation=nothing_yet.organisation, host_name="h1")
    token, secret = made(nothing_yet)

    status, said = refused(join(secret))

    assert status == 409
    assert 'a host "h1" is known already, and stays as it is' in said
    assert authenticate(f"Token {known.token}", scope=Scope.ENFORCE, now=nothing_yet.now)
    assert JoinToken.objects.get(pk=token.pk).hosts_joined == 0


def test_host_that_joined_may_run_its_line_again(nothing_yet: Fleet) -> None:
    _, secret = made(nothing_yet)
    first = unpacked(join(secret))

    again = unpacked(join(secret, agent=first["etc/token"]))

    assert not [name for name in again if name.startswith("etc/")]
    assert authenticate(f"Token {first['etc/token']}", scope=Scope.ENFORCE, now=nothing_yet.now)
    assert JoinToken.objects.get().hosts_joined == 1
    assert HostJoin.objects.count() == 1


def test_line_for_one_host_connects_it_anew_and_no_other(nothing_yet: Fleet) -> None:
    known = enroll(organisation=nothing_yet.organisation, host_name="h1")
    _, secret = made(nothing_yet, host_name="h1")

    other = refused(join(secret, "h2"))
    files = unpacked(join(secret, agent="slu_of-another-installation"))

    assert other[0] == 410
    assert "if they are one, set SLUICE_HOST=h1" in other[1]
    assert Token.objects.valid(known.token, now=nothing_yet.now) is None
    assert files["etc/server-key"] not in ("", known.server_key)


def test_host_of_another_organisation_is_another_host(nothing_yet: Fleet) -> None:
    lakeside = Organisation.objects.create(slug="lakeside-2", name="Lakeside")
    theirs = enroll(organisation=lakeside, host_name="h1")
    _, secret = made(nothing_yet, most_hosts=2)

    with_their_agent = refused(join(secret, agent=theirs.token))
    own = join(secret)

    assert with_their_agent[0] == 409
    assert "has an agent already, which this organisation does not know" in with_their_agent[1]
    assert own.status_code == 200
    assert Token.objects.valid(theirs.token, now=nothing_yet.now) is not None
    assert Host.objects.filter(name="h1").count() == 2


@pytest.mark.parametrize(
    "name", ["", " h1", "localhost", "localhost.localdomain", "h\n1", "h" * 254]
)
def test_what_is_no_name_of_one_host_is_refused(nothing_yet: Fleet, name: str) -> None:
    _, secret = made(nothing_yet)

    status, said = refused(join(secret, name))

    assert status == 410
    assert "name" in said


def test_keys_never_travel_by_plain_http(nothing_yet: Fleet) -> None:
    _, secret = made(nothing_yet)

    script = Client().get(f"/join/{secret}").content.decode()
    answer = Client().post(f"/join/{secret}", {"host": "h1"})

    assert "this server was reached by plain http" in script
    assert script.endswith("exit 1\n")
    assert answer.status_code == 400
    assert not Host.objects.exists()


def test_script_has_the_secret_and_nothing_that_a_shell_would_run(nothing_yet: Fleet) -> None:
    _, secret = made(nothing_yet, host_name="h1'; $(reboot)")

    with acting_as(DatabaseRole.WEB):
        script = Client().get(f"/join/{secret}", secure=True).content.decode()

    assert f"SLUICE_JOIN={secret}\n" in script
    assert """SLUICE_NAME='h1'"'"'; $(reboot)'\n""" in script
    assert script.endswith("main </dev/null\n")


def test_who_asks_too_often_waits(nothing_yet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = made(nothing_yet)
    empty = Taken(may=False, most=rate_limit.JOINS_PER_MINUTE, left=0.0)
    monkeypatch.setattr("web.views.join.take_of_address", lambda _: empty)

    status, said = refused(join(secret))

    assert (status, said) == (
        429,
        "too many hosts ask from this address; wait 1 s and try again\n",
    )


# --- Pages


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("operator", 403), ("owner", 200)])
def test_line_is_made_by_who_may(nothing_yet: Fleet, who: str, status: int) -> None:
    answer = client_of(getattr(nothing_yet.people, who)).post("/hosts/connect/make/", FORM)

    assert answer.status_code == status
    assert JoinToken.objects.count() == (status == 200)


def test_line_is_shown_once_and_its_page_follows_the_host(nothing_yet: Fleet) -> None:
    owner = client_of(nothing_yet.people.owner)
    found = LINE.search(owner.post("/hosts/connect/make/", FORM).content.decode())
    assert found is not None
    address = f"/hosts/connect/{JoinToken.objects.get().pk}/"

    before = owner.get(address).content.decode()
    assert join(found[1].rpartition("/")[2], clock="1", system="Debian 12").status_code == 200
    after = page_of(owner.get(address))

    assert "slj_" not in before
    assert "Waiting for the first host" in before
    assert after.row("table", "Joined")[0].endswith("done")
    assert "Debian 12" in after.row("table", "Joined")[1]
    assert "behind the server's" in after.row("table", "Clock")[1]
    assert after.row("table", "Agent")[1] == "it has not reported yet"


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "x"},
        {"hosts": "0"},
        {"hosts": "501"},
        {"minutes": "99999999"},
        {"hosts": "2", "host": "h1"},
    ],
)
def test_form_of_no_use_makes_nothing(nothing_yet: Fleet, wrong: dict[str, str]) -> None:
    answer = client_of(nothing_yet.people.owner).post("/hosts/connect/make/", FORM | wrong)

    assert answer.status_code == 302
    assert not JoinToken.objects.exists()


def test_revoked_line_lets_nobody_join_and_keeps_who_did(nothing_yet: Fleet) -> None:
    token, secret = made(nothing_yet, most_hosts=2)
    files = unpacked(join(secret))

    client_of(nothing_yet.people.owner).post(f"/hosts/connect/{token.pk}/revoke/")

    assert join(secret, "h2").status_code == 410
    assert Token.objects.valid(files["etc/token"], now=nothing_yet.now) is not None
