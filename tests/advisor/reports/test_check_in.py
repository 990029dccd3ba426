"""What is said outside of Sluice's own health, to a real receiver, and when nothing is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Organisation
from advisor.core.freshness import STALE_AFTER
from advisor.decisions.inventory import add_resource
from advisor.models import Resource, ResourceKind, ResourceStatus
from advisor.notifications.channels import webhook
from advisor.pipeline import work_figures
from advisor.reports.check_in import check_in
from config.celery import BEAT_SCHEDULE
from config.queues import queue_of
from tests.advisor.notifications.receivers import WebSink, web_sink
from tests.config.queued import empty

pytestmark = [pytest.mark.valkey, pytest.mark.django_db]

PATH = "/ping/4Hx9-secret"


@pytest.fixture(autouse=True)
def queue(valkey_url: str) -> Iterator[None]:
    empty(valkey_url)
    yield
    empty(valkey_url)


@pytest.fixture
def receiver(settings: Any) -> Iterator[WebSink]:
    """Inside the network, as the operator allows."""
    with web_sink() as sink:
        settings.CHECK_IN_URL, settings.NOTIFY_INSIDE = sink.url + PATH, True
        yield sink


@pytest.fixture
def resource() -> Resource:
    """Evaluated just now."""
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    row = add_resource(
        organisation=organisation,
        name="nfs-07",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sdb")],
    )
    ResourceStatus.objects.update_or_create(resource=row, defaults={"looked_at": timezone.now()})
    return row


def everybody_lives(settings: Any, *, at: datetime, but: str = "") -> None:
    """A sign of life of each worker and of the scheduler, but of one."""
    names = {queue.name: ("worker", [queue.name]) for queue in settings.WORK_QUEUES}
    for name, (kind, queues) in {**names, "scheduler": ("scheduler", [])}.items():
        if name != but:
            work_figures.note_life(name=f"{name}@a", kind=kind, queues=queues, now=at)


def said(receiver: WebSink) -> list[str]:
    return [post.path for post in receiver.posts]


def test_healthy_product_says_so(receiver: WebSink, resource: Resource, settings: Any) -> None:
    now = timezone.now()
    everybody_lives(settings, at=now)

    told = check_in(now=now)

    assert told is not None
    assert (told.faults, told.was_taken, told.answer) == ((), True, "it answers 200")
    assert said(receiver) == [PATH]
    _, good = work_figures.check_ins()
    assert good is not None
    assert good.at == now.timestamp()


@pytest.mark.parametrize("dead", ["evaluate", "notify", "upkeep", "scheduler"])
def test_dead_process_makes_it_silent_then_a_fault_is_told_until_it_lives_again(
    dead: str, receiver: WebSink, resource: Resource, settings: Any
) -> None:
    now = timezone.now()
    everybody_lives(settings, at=now - timedelta(seconds=31), but="")
    everybody_lives(settings, at=now, but=dead)

    first = check_in(now=now)
    assert said(receiver) == []
    second = check_in(now=now)
    everybody_lives(settings, at=now)
    third = check_in(now=now)

    assert first is not None
    assert second is not None
    assert third is not None
    of = "the scheduler" if dead == "scheduler" else f"the worker of {dead}"
    assert first.faults == second.faults == (f"{of} gave no sign of life for 31 s",)
    assert third.faults == ()
    assert said(receiver) == [f"{PATH}/fail", PATH]
    assert receiver.posts[0].body.decode() == second.faults[0]


def test_old_detection_makes_it_silent(
    receiver: WebSink, resource: Resource, settings: Any
) -> None:
    now = timezone.now()
    everybody_lives(settings, at=now)
    ResourceStatus.objects.update(looked_at=now - STALE_AFTER - timedelta(seconds=1))
    Resource.objects.update(created_at=now - timedelta(days=1))

    told = check_in(now=now)

    assert told is not None
    assert told.faults == ("1 of 1 resources were not evaluated for two minutes",)
    assert said(receiver) == []
    _, good = work_figures.check_ins()
    assert good is None


def test_database_that_takes_no_writes_makes_it_silent(
    receiver: WebSink, resource: Resource, settings: Any
) -> None:
    everybody_lives(settings, at=timezone.now())
    # Everything can be read; the savepoint takes it back.
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL transaction_read_only = on")
        told = check_in(now=timezone.now())
        transaction.set_rollback(True)

    assert told is not None
    assert told.faults == ("the database takes no writes",)
    assert said(receiver) == []


def test_queues_server_that_is_away_is_a_fault(
    receiver: WebSink, resource: Resource, settings: Any, tmp_path: Any
) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/none.sock"
    work_figures._client.cache_clear()
    try:
        told = check_in(now=timezone.now())
    finally:
        work_figures._client.cache_clear()

    assert told is not None
    assert told.faults == ("the queue's server does not answer",)
    assert said(receiver) == []


def test_receiver_that_hangs_costs_a_limited_time(
    receiver: WebSink, resource: Resource, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "DEADLINE_S", 0.5)
    everybody_lives(settings, at=timezone.now())
    receiver.drips = True

    began_s = time.monotonic()
    told = check_in(now=timezone.now())

    assert told is not None
    assert not told.was_taken
    assert told.answer.startswith("no answer: ")
    assert time.monotonic() - began_s < 15.0
    # It waits in a queue of two slots, of which one is always left.
    assert queue_of("advisor.tasks.check_in").slots == 2
    assert queue_of("advisor.tasks.check_in").soft_limit_s > webhook.TIMEOUT_S + 5


@pytest.mark.parametrize(
    ("status", "answer"),
    [(500, "it answers 500"), (302, "it answers 302"), (404, "it answers 404")],
)
def test_receiver_that_does_not_take_it_is_no_good_check_in(
    status: int, answer: str, receiver: WebSink, resource: Resource, settings: Any
) -> None:
    everybody_lives(settings, at=timezone.now())
    receiver.statuses = [status]

    told = check_in(now=timezone.now())

    assert told is not None
    assert (told.was_taken, told.answer) == (False, answer)
    # A redirection is not followed.
    assert said(receiver) == [PATH]
    newest, good = work_figures.check_ins()
    assert newest is not None
    assert newest.answer == answer
    assert good is None


def test_inside_of_the_network_is_reached_only_where_the_operator_allows_it(
    receiver: WebSink, resource: Resource, settings: Any
) -> None:
    settings.NOTIFY_INSIDE = False
    everybody_lives(settings, at=timezone.now())

    told = check_in(now=timezone.now())

    assert told is not None
    assert "inside of this server's network" in told.answer
    assert said(receiver) == []


def test_address_is_in_no_line_and_no_figure(
    receiver: WebSink, resource: Resource, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    everybody_lives(settings, at=timezone.now())
    settings.CHECK_IN_URL = f"http://127.0.0.1:9{PATH}"

    told = check_in(now=timezone.now())

    shown = [str(vars(one)) for one in caplog.records]
    assert told is not None
    assert "4Hx9" not in told.answer + "".join(shown) + str(work_figures.check_ins())


def test_query_of_the_address_stays_behind_a_fault(
    receiver: WebSink, resource: Resource, settings: Any
) -> None:
    settings.CHECK_IN_URL = f"{receiver.url}/push/?key=1"

    check_in(now=timezone.now(), at_once=True)

    assert said(receiver) == ["/push/fail?key=1"]


def test_without_an_address_nothing_is_said_or_scheduled(db: None) -> None:
    assert check_in(now=timezone.now()) is None
    assert "check-in" not in BEAT_SCHEDULE
    with pytest.raises(CommandError, match="SLUICE_CHECK_IN_URL"):
        call_command("check-in")


def test_command_sends_one_and_says_the_answer(
    receiver: WebSink, resource: Resource, settings: Any
) -> None:
    out = StringIO()
    with pytest.raises(SystemExit) as dead:
        call_command("check-in", stdout=out)
    everybody_lives(settings, at=timezone.now())
    call_command("check-in", stdout=out)

    assert dead.value.code == 1
    lines = out.getvalue().splitlines()
    assert "fault: the scheduler gave no sign of life for an hour" in lines
    assert [one for one in lines if one.startswith("said:")] == [
        "said: a fault; it answers 200",
        "said: healthy; it answers 200",
    ]
    assert said(receiver) == [f"{PATH}/fail", PATH]
