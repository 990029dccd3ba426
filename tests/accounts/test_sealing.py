"""Secrets in the database: encrypted by a key outside of it, which can be renewed and be lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from cryptography.fernet import Fernet
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import KeptAnswer, Organisation, Scope, Token
from accounts.sealed_columns import count, places, seal_anew, take_seals_off
from accounts.sealing import MARK, Sealed, SealedBy, Unsealable, seal, sealed_by, unseal
from advisor.models import ChannelKind, Enforcer, NotificationChannel
from ingest.models import Host

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
SECRETS = {
    "channel secret": "whsec-of-channel",
    "channel address": "slack://AAAA/BBBB/CCCC",
    "shared with an agent": "5b5b" * 16,
    "kept answer": '{"token": "slu_shown-once"}',
    "seed of codes": "JBSWY3DPEHPK3PXP",
}
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def use(settings: Any, *keys: str) -> None:
    """The server's keys, the newest first."""
    settings.ENCRYPTION_KEYS = lambda: list(keys)


@pytest.fixture
def stored(db: None, settings: Any) -> None:
    """One secret of each kind, sealed by the old key."""
    use(settings, OLD)
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    NotificationChannel.objects.create(
        organisation=organisation, name="chat", kind=ChannelKind.SERVICE,
        address=SECRETS["channel address"], secret=SECRETS["channel secret"],
    )  # fmt: skip
    host = Host.objects.create(organisation=organisation, name="h1")
    Enforcer.objects.create(host=host, signing_key=SECRETS["shared with an agent"])
    token, _ = Token.objects.issue(organisation=organisation, scope=Scope.INGEST, name="t")
    KeptAnswer.objects.create(
        organisation=organisation, token=token, key="k", asked="", created_at=NOW,
        body=SECRETS["kept answer"],
    )  # fmt: skip
    user = get_user_model().objects.create_user(username="kim")
    TOTP.activate(user, SECRETS["seed of codes"])
    RecoveryCodes.activate(user)


def everything() -> str:
    """All that the database holds, as it holds it."""
    found = []
    with connection.cursor() as cursor:
        for model in apps.get_models():
            cursor.execute(f'SELECT t::text FROM "{model._meta.db_table}" t')
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


@given(st.text(min_size=1, max_size=300))
def test_sealed_secret_is_opened_again(secret: str) -> None:
    assert unseal(seal(secret)) == secret


@given(st.text(min_size=9, max_size=40))
def test_sealed_secret_shows_nothing_of_it(secret: str) -> None:
    sealed = seal(secret)

    assert secret not in sealed
    assert secret not in repr(Sealed(secret))
    assert seal(secret) != sealed


@pytest.mark.usefixtures("stored")
def test_no_table_holds_a_secret_in_clear() -> None:
    text = everything()

    assert "acme" in text
    assert not [name for name, secret in SECRETS.items() if secret in text]
    seeds = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES).data["seed"]
    assert seeds.startswith(MARK)


@pytest.mark.usefixtures("stored")
def test_rows_give_the_secrets_and_queries_do_not() -> None:
    channel = NotificationChannel.objects.get()

    assert (channel.address, channel.secret) == (
        SECRETS["channel address"],
        SECRETS["channel secret"],
    )
    assert Enforcer.objects.get().signing_key == SECRETS["shared with an agent"]
    assert KeptAnswer.objects.get().body == SECRETS["kept answer"]
    assert unseal(Authenticator.objects.earliest("pk").data["secret"]) == SECRETS["seed of codes"]
    assert not [
        one for one in SECRETS.values() if one in str(NotificationChannel.objects.values())
    ]


@pytest.mark.usefixtures("stored")
def test_row_that_is_saved_keeps_its_secret_and_takes_a_new_one() -> None:
    channel = NotificationChannel.objects.get()
    channel.secret = "another"
    channel.save()
    channel.refresh_from_db()
    NotificationChannel.objects.update(address="slack://new")

    again = NotificationChannel.objects.get()

    assert (again.address, again.secret) == ("slack://new", "another")
    assert Enforcer.objects.filter(signing_key="").count() == 0


@pytest.mark.usefixtures("stored")
def test_new_key_opens_what_the_old_one_sealed_until_it_is_sealed_anew(settings: Any) -> None:
    use(settings, NEW, OLD)
    assert NotificationChannel.objects.get().secret == SECRETS["channel secret"]

    for place in places():
        seal_anew(place)

    use(settings, NEW)
    assert NotificationChannel.objects.get().secret == SECRETS["channel secret"]
    assert unseal(Authenticator.objects.earliest("pk").data["secret"]) == SECRETS["seed of codes"]
    totals = sum(
        (count(place) for place in places()), start=count(places()[0]) - count(places()[0])
    )
    # Two of the channel, one each of agent and answer, and two second factors.
    assert totals == {SealedBy.NEWEST: 6}


@pytest.mark.usefixtures("stored")
def test_row_whose_key_is_lost_is_shown_and_says_what_to_do(settings: Any) -> None:
    use(settings, NEW)

    channel = NotificationChannel.objects.get()

    assert channel.name == "chat"
    with pytest.raises(Unsealable, match=r"encryption-keys, from a backup, or state the secret"):
        _ = channel.secret
    # What nobody can read is kept: the key may come back.
    channel.save()
    use(settings, OLD)
    assert NotificationChannel.objects.get().secret == SECRETS["channel secret"]


@pytest.mark.usefixtures("stored")
def test_command_counts_by_key_and_seals_anew(settings: Any) -> None:
    def sluice(*words: str) -> Any:
        out = StringIO()
        call_command("secrets", *words, "--json", stdout=out)
        return json.loads(out.getvalue())

    use(settings, NEW, OLD)
    before = {row["where"]: row["older"] for row in sluice("check")}
    after = {row["where"]: (row["newest"], row["older"]) for row in sluice("reseal")}

    assert before["mfa_authenticator.data"] == 2
    assert before["advisor_notificationchannel.secret"] == 1
    assert after["mfa_authenticator.data"] == (2, 0)
    assert Fernet(sluice("new-key")["key"])
    use(settings, OLD)
    with pytest.raises(CommandError, match="6 secrets were encrypted by a key"):
        sluice("check")


@pytest.mark.usefixtures("stored")
def test_what_was_stored_in_clear_is_sealed_and_back() -> None:
    sealed = [Authenticator.objects.earliest("pk").data, Enforcer.objects.get().signing_key]
    for place in places():
        take_seals_off(place)
    in_clear = everything()

    for place in places():
        seal_anew(place)

    assert all(secret in in_clear for name, secret in SECRETS.items() if name != "kept answer")
    assert not [name for name, secret in SECRETS.items() if secret in everything()]
    assert Enforcer.objects.get().signing_key == sealed[1]


def test_text_without_a_seal_is_known_as_such(settings: Any) -> None:
    use(settings, NEW, OLD)

    assert sealed_by("clear") is SealedBy.NONE
    assert sealed_by(MARK + "damaged") is SealedBy.LOST
    with pytest.raises(Unsealable):
        unseal("clear")
