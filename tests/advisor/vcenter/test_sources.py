"""vCenters that are read by themselves: what may be stated, and what a worker makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from pytest_django import Settings

from accounts.actor import Actor
from accounts.errors import NotAllowed
from accounts.models import AuditEntry, Organisation
from accounts.roles import Role
from advisor.decisions.sources import reading
from advisor.decisions.sources.problems import StatedSource
from advisor.decisions.sources.stating import (
    MOST_SOURCES,
    PUT_BACK_WITHIN,
    allowed_addresses,
    ask_trial,
    drop_removed,
    pause_source,
    put_back,
    remove_source,
    removed_sources,
    resume_source,
    sources_of,
    state_source,
)
from advisor.decisions.vcenter import live
from advisor.errors import DecisionRefused
from advisor.models import ReadSource, Resource
from ingest.imports.reachable import Addresses
from tests.advisor.scenario import NOW
from tests.advisor.vcenter.certificates import own_certificate
from tests.advisor.vcenter.small_vcenter import PASSWORD, USER, SmallVcenter, small_vcenter

pytestmark = pytest.mark.django_db

ADMIN = Actor(name="ann", role=Role.ADMIN)
MINUTE = timedelta(minutes=1)
HOUR = 60 * MINUTE


@pytest.fixture
def acme() -> Organisation:
    return Organisation.objects.create(slug="acme", name="Acme")


@pytest.fixture
def vcenter(settings: Settings) -> Iterator[SmallVcenter]:
    """On this machine, which the installation lets sources reach."""
    settings.SOURCE_ADDRESSES = "any"
    with small_vcenter() as running:
        yield running


def stating(organisation: Organisation, **changes: Any) -> ReadSource:
    said = {"name": "main", "address": "https://vc.example.org", "user": USER} | changes
    said.setdefault("password", PASSWORD)
    stated = StatedSource(**said)
    return state_source(organisation=organisation, stated=stated, actor=ADMIN, now=NOW)


def read(row: ReadSource, *, at: Any = NOW) -> ReadSource:
    reading.read_where_due(row.pk, now=at)
    return ReadSource.objects.get(pk=row.pk)


def actions(organisation: Organisation) -> list[str]:
    rows = AuditEntry.objects.filter(organisation=organisation).order_by("number")
    return list(rows.values_list("action", flat=True))


# --- What is stated


def test_password_is_stored_sealed_and_told_to_no_audit_entry(acme: Organisation) -> None:
    row = stating(acme)

    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM advisor_vcentersource")
        assert PASSWORD not in str(cursor.fetchall())
    assert sources_of(acme).get().password == PASSWORD
    entry = AuditEntry.objects.get(organisation=acme)
    assert (entry.action, entry.subject) == ("state a source", "main")
    assert PASSWORD not in str(entry.details)
    assert row.next_at == NOW


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"address": "https://other.example.org"}, "give the password again"),
        ({"user": "somebody"}, "give the password again"),
        ({"fingerprint": "ab" * 32}, "give the password again"),
        ({"every_min": 30, "takes_over": True}, ""),
    ],
    ids=["elsewhere", "as somebody else", "by another certificate", "the same place"],
)
def test_stored_password_goes_nowhere_else_than_it_was_given_for(
    acme: Organisation, changes: dict[str, Any], complaint: str
) -> None:
    stating(acme)

    if complaint:
        with pytest.raises(DecisionRefused, match=complaint):
            stating(acme, password="", **changes)
    else:
        stating(acme, password="", **changes)

    row = sources_of(acme).get()
    assert row.every_min == (60 if complaint else 30)
    assert row.address == "https://vc.example.org"
    assert row.password == PASSWORD


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": " "}, "it needs a name"),
        ({"address": "vc.example.org"}, "is no address such as"),
        ({"address": "http://vc.example.org"}, "would send the password unprotected"),
        ({"address": "https://ann:pw@vc.example.org"}, "leave user and password out"),
        ({"address": "https://vc.example.org/ui"}, "is no address such as"),
        ({"address": f"https://{'v' * 300}.example.org"}, "has at most 300 letters"),
        ({"address": "https://127.0.0.1"}, "no address of another machine"),
        ({"address": "https://[::ffff:169.254.169.254]"}, "a cloud tells its machines"),
        ({"user": ""}, "it needs a user"),
        ({"password": ""}, "it needs the password"),
        ({"password": "two\nlines"}, "that can be printed"),
        ({"fingerprint": "abc"}, "64 hexadecimal digits"),
        ({"authority": "none"}, "no certificate that can be read"),
        ({"every_min": 4}, "5 to 10080 minutes"),
        ({"every_min": 10081}, "5 to 10080 minutes"),
    ],
)
def test_source_that_could_not_be_read_is_refused(
    acme: Organisation, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(DecisionRefused, match=complaint):
        stating(acme, **changes)

    assert not ReadSource.objects.exists()
    assert actions(acme) == []


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_who_is_no_admin_states_and_tests_nothing(acme: Organisation, role: Role) -> None:
    row = stating(acme)
    somebody = Actor(name="bob", role=role)

    with pytest.raises(NotAllowed):
        state_source(
            organisation=acme,
            stated=StatedSource(name="b", address="https://b.example.org", user="b", password="b"),
            actor=somebody,
            now=NOW,
        )
    for change in (ask_trial, pause_source, resume_source, remove_source, put_back):
        with pytest.raises(NotAllowed):
            change(row, actor=somebody, now=NOW)


def test_organisation_has_a_bounded_number_of_sources(acme: Organisation) -> None:
    for number in range(MOST_SOURCES):
        stating(acme, name=f"vc{number}")

    with pytest.raises(DecisionRefused, match="at most 20 sources"):
        stating(acme, name="one more")

    assert stating(acme, name="vc0").name == "vc0"


def test_private_networks_are_reached_while_one_organisation_is_there(
    acme: Organisation, settings: Settings
) -> None:
    Organisation.objects.create(slug="sample", name="Sample", is_sample=True)
    row = stating(acme, address="https://10.0.0.5")
    assert allowed_addresses() is Addresses.PRIVATE

    Organisation.objects.create(slug="other", name="Other")

    assert allowed_addresses() is Addresses.PUBLIC
    assert "SLUICE_SOURCE_ADDRESSES=private allows it" in read(row).says
    settings.SOURCE_ADDRESSES = "private"
    assert allowed_addresses() is Addresses.PRIVATE
    settings.SOURCE_ADDRESSES = "public"
    with pytest.raises(DecisionRefused, match="inside a private network"):
        stating(acme, address="https://10.0.0.7")


def test_removed_source_can_be_put_back_for_a_day(acme: Organisation) -> None:
    row = stating(acme)
    remove_source(row, actor=ADMIN, now=NOW)
    assert not sources_of(acme).exists()
    assert not reading.due_sources(now=NOW + HOUR).exists()

    put_back(row, actor=ADMIN, now=NOW + HOUR)
    assert sources_of(acme).get().password == PASSWORD
    remove_source(row, actor=ADMIN, now=NOW)
    drop_removed(now=NOW + PUT_BACK_WITHIN - MINUTE)
    assert removed_sources(acme, now=NOW + HOUR).exists()
    drop_removed(now=NOW + PUT_BACK_WITHIN)

    assert not ReadSource.objects.exists()
    assert actions(acme) == [
        "state a source", "remove a source", "put a source back", "remove a source",
    ]  # fmt: skip


def test_removed_source_does_not_come_back_beside_another_of_its_name(
    acme: Organisation,
) -> None:
    row = stating(acme)
    remove_source(row, actor=ADMIN, now=NOW)
    stating(acme)

    with pytest.raises(DecisionRefused, match="another source main"):
        put_back(row, actor=ADMIN, now=NOW)


# --- What a worker makes of it


def test_read_source_says_what_differs_and_takes_over_only_if_it_is_let(
    acme: Organisation, vcenter: SmallVcenter
) -> None:
    store = Resource.objects.create(
        organisation=acme,
        name="nfs-08",
        kind="datastore",
        unit="iops",
        threshold=30.0,
        activity_floor=1.0,
    )

    row = read(stating(acme, address=vcenter.url))

    assert row.says.startswith("1 VMs and 1 datastores read; not taken over: 1 threshold")
    assert (row.failures, row.read_at, row.began_at) == (0, NOW, None)
    assert row.next_at == NOW + HOUR
    assert vcenter.requests[-1] == "Logout"
    store.refresh_from_db()
    assert store.threshold == 30.0

    row = read(stating(acme, address=vcenter.url, takes_over=True))

    store.refresh_from_db()
    assert store.threshold == 20.0
    assert "taken over: 1 threshold" in row.says
    assert "nothing differs" in read(row, at=NOW + HOUR).says
    # Once, for the one read that changed something.
    assert actions(acme).count("import vcenter") == 1


def test_source_is_read_when_it_is_due_and_not_twice(
    acme: Organisation, vcenter: SmallVcenter
) -> None:
    row = read(stating(acme, address=vcenter.url))
    logins = vcenter.requests.count("Login")

    read(row)
    read(row, at=NOW + HOUR - MINUTE)
    assert vcenter.requests.count("Login") == logins == 1
    assert not reading.due_sources(now=NOW + HOUR - MINUTE).exists()
    read(row, at=NOW + HOUR)

    assert vcenter.requests.count("Login") == 2


def test_one_that_cannot_be_read_is_tried_ever_less_often_and_says_why(
    acme: Organisation, vcenter: SmallVcenter
) -> None:
    row = stating(acme, address=vcenter.url, password="wrong")
    waits = []
    at = NOW
    for _ in range(6):
        row = read(row, at=at)
        waits.append((row.next_at - at) / HOUR)
        at = row.next_at

    assert "refuses user reader@vsphere.local: wrong name or password" in row.says
    assert row.failures == 6
    assert row.read_at is None
    # Doubled each time, down to once a day.
    assert waits == [2, 4, 8, 16, 24, 24]


@pytest.mark.parametrize(
    ("behaviour", "complaint"),
    [
        ({"is_esx": True}, "is one ESXi host"),
        ({"is_empty": True}, "no virtual machine and no datastore was read"),
    ],
)
def test_what_is_no_vcenter_or_shows_nothing_is_told(
    acme: Organisation, vcenter: SmallVcenter, behaviour: dict[str, bool], complaint: str
) -> None:
    for name, value in behaviour.items():
        setattr(vcenter, name, value)

    assert complaint in read(stating(acme, address=vcenter.url)).says


def test_one_that_answers_a_letter_at_a_time_is_cut_off(
    acme: Organisation, vcenter: SmallVcenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "READ_LIMIT_S", 0.5)
    vcenter.drips = True

    row = read(stating(acme, address=vcenter.url))

    assert "did not finish within" in row.says
    assert row.failures == 1


def test_hanging_source_of_one_organisation_leaves_that_of_another(
    acme: Organisation, vcenter: SmallVcenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "READ_LIMIT_S", 0.5)
    other = Organisation.objects.create(slug="other", name="Other")
    with small_vcenter() as hanging:
        hanging.drips = True
        bad, good = stating(acme, address=hanging.url), stating(other, address=vcenter.url)
        due = reading.due_sources(now=NOW).values_list("organisation", "pk")
        assert set(due) == {(acme.pk, bad.pk), (other.pk, good.pk)}

        assert read(bad).failures == 1
        monkeypatch.setattr(reading, "READ_LIMIT_S", 30.0)
        assert read(good).failures == 0


def test_source_that_is_not_allowed_any_more_is_not_reached(
    acme: Organisation, vcenter: SmallVcenter, settings: Settings
) -> None:
    row = stating(acme, address=vcenter.url.replace("127.0.0.1", "localhost"))
    settings.SOURCE_ADDRESSES = "private"

    row = read(row)

    assert "no address of another machine" in row.says
    assert vcenter.requests == []


def test_password_whose_key_is_lost_is_told(
    acme: Organisation, vcenter: SmallVcenter, settings: Settings
) -> None:
    row = stating(acme, address=vcenter.url)
    settings.ENCRYPTION_KEYS = lambda: [Fernet.generate_key().decode()]

    assert "state the secret anew" in read(row).says
    assert vcenter.passwords == []


def test_paused_source_is_not_read_and_a_resumed_one_at_once(
    acme: Organisation, vcenter: SmallVcenter
) -> None:
    row = stating(acme, address=vcenter.url)
    pause_source(row, actor=ADMIN, now=NOW)
    read(row)
    assert vcenter.requests == []
    with pytest.raises(DecisionRefused, match="paused already"):
        pause_source(row, actor=ADMIN, now=NOW)

    resume_source(row, actor=ADMIN, now=NOW + MINUTE)
    read(row, at=NOW + MINUTE)

    assert "Login" in vcenter.requests


def test_error_of_our_own_is_kept_with_the_source_and_raised(
    acme: Organisation, vcenter: SmallVcenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = stating(acme, address=vcenter.url)

    def broken(*_: object) -> None:
        raise RuntimeError("anything")

    monkeypatch.setattr(live, "read_inventory", broken)

    with pytest.raises(RuntimeError):
        read(row)
    row.refresh_from_db()

    assert "it ended with an error: RuntimeError" in row.says
    assert row.next_at == NOW + 2 * HOUR


@pytest.mark.parametrize(
    ("password", "worked", "says"),
    [
        (PASSWORD, True, "VMware vCenter Server 8.0.2 lets reader@vsphere.local in"),
        ("wrong", False, "wrong name or password"),
    ],
)
def test_test_logs_in_and_reads_nothing(
    acme: Organisation, vcenter: SmallVcenter, password: str, worked: bool, says: str
) -> None:
    row = stating(acme, address=vcenter.url, password=password)
    pause_source(row, actor=ADMIN, now=NOW)
    ask_trial(row, actor=ADMIN, now=NOW)
    row.refresh_from_db()
    assert row.is_tried
    with pytest.raises(DecisionRefused, match="being tested"):
        ask_trial(row, actor=ADMIN, now=NOW)

    row = read(row, at=NOW + MINUTE)

    assert (row.is_tried, row.trial_worked) == (False, worked)
    assert says in row.trial_says
    assert "RetrievePropertiesEx" not in vcenter.requests
    assert not reading.due_sources(now=NOW + MINUTE).exists()


# --- The certificate


def test_certificate_is_checked_by_the_system_an_authority_or_its_fingerprint(
    acme: Organisation, settings: Settings, tmp_path: Path
) -> None:
    settings.SOURCE_ADDRESSES = "any"
    authority, fingerprint = own_certificate(tmp_path / "server.pem")
    with small_vcenter(tmp_path / "server.pem") as vcenter:
        url = vcenter.url
        plain = read(stating(acme, name="plain", address=url)).says
        seen = list(vcenter.requests)
        known = read(stating(acme, name="known", address=url, authority=authority))
        pinned = read(stating(acme, name="pinned", address=url, fingerprint=fingerprint))
        passwords = list(vcenter.passwords)
        other = read(stating(acme, name="other", address=url, fingerprint="ab" * 32)).says

    assert "is not trusted: self-signed certificate" in plain
    assert seen == []
    assert (known.failures, pinned.failures) == (0, 0)
    assert "another certificate than the one that is pinned" in other
    assert fingerprint.replace(":", "").lower() in other
    # Nothing was sent to the one that was not known.
    assert passwords == vcenter.passwords == [PASSWORD, PASSWORD]
