"""`sluice notify`: what people type, and what they read of it."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Organisation
from advisor.models import Delivery, Incident, NotificationChannel, NotificationRule, Team
from tests.advisor.notifications.receivers import WebSink
from tests.advisor.notifications.support import pass_time
from tests.advisor.scenario import Cluster

HOOK = ("notify", "set-channel", "hook", "--webhook")


@pytest.fixture(autouse=True)
def alone(cluster: Cluster) -> None:
    Organisation.objects.exclude(pk=cluster.organisation.pk).delete()


def sluice(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def sluice_json(*words: str) -> Any:
    return json.loads(sluice(*words, "--json"))


def test_channel_is_tried_out_and_the_log_says_what_became_of_it(
    cluster: Cluster, web: WebSink
) -> None:
    told = sluice(*HOOK, f"{web.url}/hook")
    secret = NotificationChannel.objects.get().secret

    sluice("notify", "try", "hook")
    pass_time(cluster, timezone.now())

    assert f"Its secret, which signs what hook gets: {secret}" in told
    assert secret not in sluice("notify", "channels")
    (line,) = sluice_json("notify", "log")
    assert (line["channel"], line["subject"], line["state"]) == (
        "hook", "Sluice can reach you here", "sent",
    )  # fmt: skip
    assert len(web.posts) == 1


def test_address_of_a_service_is_not_shown_for_it_opens_the_service() -> None:
    sluice("notify", "set-channel", "chat", "--service", f"mmost://127.0.0.1/{'k' * 24}")

    (line,) = sluice_json("notify", "channels")

    assert line["leads_to"] == "mmost"


def test_rule_is_set_anew_by_its_name_and_says_what_it_holds_back(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    sluice(*HOOK, web.url)
    sluice("notify", "set-rule", "all", "--channel", "hook")
    sluice(
        "notify", "set-rule", "all", "--channel", "hook", "--at-least", "promise-missed",
        "--resource", "h1/up0", "--quiet", "Mon-Tue 22:00 9h", "--zone", "Europe/Berlin",
    )  # fmt: skip
    sluice("notify", "silence", "h1/up0", "--for", "2h", "--reason", "new card")

    (rule,) = sluice_json("notify")["rules"]

    assert NotificationRule.objects.count() == 1
    assert (rule["at_least"], rule["of"]) == ("promise missed", "h1/up0")
    assert rule["quiet"] == "Mon-Tue 22:00 9h Europe/Berlin"
    assert [(one["resource"], one["reason"]) for one in rule["held_back"]] == [
        ("h1/up0", "it is silenced")
    ]
    assert "Silent on h1/up0 until" in sluice("notify")
    assert sluice("notify", "tell-again", "h1/up0").count("Silent") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set-channel", "x", "--webhook", "ftp://example.org"), "begins with https://"),
        (("set-channel", "x", "--mail", "ann@example.org"), "SLUICE_MAIL_URL"),
        (("set-rule", "x", "--channel", "none"), 'there is no channel "none"'),
        (("remove-rule", "none"), 'there is no rule "none"'),
        (("try", "none"), 'there is no channel "none"'),
        (("silence", "nothing", "--for", "2h"), 'there is no resource "nothing"'),
        (("silence", "--for", "soon"), "is not a length"),
        (("silence", "--for", "90d"), "at most 30 days"),
    ],
)
def test_what_cannot_be_is_told_and_changes_nothing(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        sluice("notify", *words)

    assert not NotificationChannel.objects.exists()
    assert not NotificationRule.objects.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--quiet", "at night"), "is no window of the week"),
        (("--quiet", "Mon 22:00 0h"), "lasts 0 min"),
        (("--quiet", "Mon 22:00 9h", "--zone", "Mars/Base"), "is not a time zone"),
    ],
)
def test_quiet_hours_that_cannot_be_are_refused(
    web: WebSink, words: tuple[str, ...], said: str
) -> None:
    sluice(*HOOK, web.url)

    with pytest.raises(CommandError, match=said):
        sluice("notify", "set-rule", "x", "--channel", "hook", *words)

    assert not NotificationRule.objects.exists()


def test_channel_goes_with_its_rules_and_messages(cluster: Cluster, web: WebSink) -> None:
    sluice(*HOOK, web.url)
    sluice("notify", "set-rule", "all", "--channel", "hook")
    sluice("notify", "try", "hook")

    told = sluice("notify", "remove-channel", "hook")

    assert "no channels" in told
    assert not NotificationRule.objects.exists()
    assert not Delivery.objects.exists()


def test_channel_that_was_stopped_is_started_again(cluster: Cluster, web: WebSink) -> None:
    sluice(*HOOK, web.url)
    NotificationChannel.objects.update(stopped_at=timezone.now(), stopped_because="404")

    sluice("notify", "start-channel", "hook")

    (line,) = sluice_json("notify", "channels")
    assert line["state"] == "in use"


def test_rule_of_a_team_and_a_tag_is_stated_and_shown(cluster: Cluster, web: WebSink) -> None:
    Team.objects.create(organisation=cluster.organisation, name="shop", tags=["tag=a"])
    sluice(*HOOK, web.url)

    told = sluice(
        "notify", "set-rule", "x", "--channel", "hook", "--team", "shop", "--tag", "label.app=db"
    )

    assert "shop, label.app=db" in told
    (line,) = sluice_json("notify")["rules"]
    assert (line["teams"], line["tags"]) == (["shop"], ["label.app=db"])
    with pytest.raises(CommandError, match='there is no team "elsewhere"'):
        sluice("notify", "set-rule", "x", "--channel", "hook", "--team", "elsewhere")


def test_channel_that_gathers_keeps_its_address(cluster: Cluster, web: WebSink) -> None:
    sluice(*HOOK, web.url)

    told = sluice(
        "notify", "set-channel", "hook", "--digest", "day", "--hour", "6",
        "--zone", "Europe/Berlin",
    )  # fmt: skip

    assert "each day at 06:00 (Europe/Berlin)" in told
    assert NotificationChannel.objects.get().address == web.url
    with pytest.raises(CommandError, match="no channel"):
        sluice("notify", "set-channel", "new", "--digest", "day")
    with pytest.raises(CommandError, match="0 to 23"):
        sluice("notify", "set-channel", "hook", "--digest", "day", "--hour", "25")
