"""At most one message per kind and subject waits, in a real valkey without any worker."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import redis
from celery.beat import Scheduler
from django.test import override_settings
from django.utils import timezone

from accounts.models import Organisation
from advisor.core.turns import MOST_GROUPS
from advisor.decisions.inventory import add_resource
from advisor.models import (
    Incident,
    LearntThreshold,
    Resource,
    ResourceKind,
    ResourceStatus,
    ThresholdMode,
)
from advisor.tasks import (
    advise_everywhere,
    detect_everywhere,
    detect_group,
    detect_resource,
    learn_everywhere,
    learn_size_term,
    learn_threshold,
    look_outside,
    look_outside_everywhere,
)
from config import one_waiting
from config.celery import BEAT_SCHEDULE, app
from config.queues import QUEUES
from tests.config.queued import Message, all_waiting, empty, waiting

pytestmark = pytest.mark.valkey

EVALUATE_EXPIRES_S = 60.0


@pytest.fixture
def queue(valkey_url: str) -> Iterator[str]:
    """The address of the queue, with nothing in it."""
    empty(valkey_url)
    yield valkey_url
    empty(valkey_url)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let so many seconds go by."""
    gone = [0.0]
    real = time.time
    monkeypatch.setattr(one_waiting.time, "time", lambda: real() + gone[0])

    def wait(seconds: float) -> None:
        gone[0] += seconds

    return wait


@pytest.fixture
def resources(db: None) -> list[Resource]:
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    return [
        add_resource(
            organisation=organisation,
            name=name,
            kind=ResourceKind.DATASTORE,
            attachments=[("h1", name)],
        )
        for name in ("sda", "sdb", "sdc")
    ]


def test_ten_minutes_without_worker_leave_one_message_of_each_scheduled_task(
    queue: str, clock: Callable[[float], None]
) -> None:
    app.loader.import_default_modules()  # As the scheduler's process does.
    scheduler = Scheduler(app=app, lazy=True)
    scheduler.setup_schedule()
    entries = [scheduler.schedule[name] for name in BEAT_SCHEDULE]

    # 120 times five seconds; each fires more often than Beat would let it.
    for _ in range(120):
        for entry in entries:
            scheduler.apply_entry(entry)
        clock(5.0)

    sent = Counter(message.task for message in all_waiting(queue))
    assert sent == {entry["task"].rpartition(".")[2]: 1 for entry in BEAT_SCHEDULE.values()}


def test_fan_outs_without_worker_leave_one_message_of_each_subject(
    queue: str, clock: Callable[[float], None], resources: list[Resource]
) -> None:
    for _ in range(30):
        detect_everywhere()
        clock(5.0)

    sent = Counter(waiting(queue, "evaluate"))
    groups = {one.organisation_id * MOST_GROUPS for one in resources}
    assert sent == {Message(task="detect_group", args=(group,)): 1 for group in groups}


def test_message_waits_again_once_the_task_has_started(
    queue: str, resources: list[Resource]
) -> None:
    one = resources[0]
    detect_resource.apply_async((one.pk,))
    assert detect_resource.apply_async((one.pk,)) is None

    detect_resource.apply((one.pk,))

    assert detect_resource.apply_async((one.pk,)) is not None


def test_threshold_is_learnt_for_this_hour_and_the_next_and_then_waits_for_an_hour(
    queue: str, clock: Callable[[float], None], resources: list[Resource]
) -> None:
    learning = resources[0]
    Resource.objects.filter(pk=learning.pk).update(threshold_mode=ThresholdMode.BASELINE)

    for _ in range(4):
        learn_everywhere()
        learn_everywhere()
        for message in waiting(queue, "upkeep"):
            if message.task == "learn_size_term":
                continue
            assert message == Message(task="learn_threshold", args=(learning.pk,))
            learn_threshold.apply((learning.pk,), throw=True)
            learn_threshold.before_start("id", (learning.pk,), {})
        empty(queue)
        clock(301.0)

    assert LearntThreshold.objects.filter(resource=learning).count() == 2


def test_size_term_of_each_datastore_is_looked_for_once_a_day(
    queue: str, clock: Callable[[float], None], resources: list[Resource]
) -> None:
    sent: Counter[Message] = Counter()
    for _ in range(4):
        learn_everywhere()
        for message in waiting(queue, "upkeep"):
            sent[message] += 1
            learn_size_term.apply(message.args, throw=True)
            learn_size_term.before_start("id", message.args, {})
        empty(queue)
        clock(301.0)

    assert sent == {Message(task="learn_size_term", args=(one.pk,)): 1 for one in resources}


def test_load_from_outside_is_looked_for_once_per_resource_with_an_incident(
    queue: str, resources: list[Resource]
) -> None:
    one = resources[0]
    Incident.objects.create(organisation=one.organisation, resource=one, started_at=timezone.now())

    for _ in range(3):
        look_outside_everywhere()
    assert waiting(queue, "advise") == [Message(task="look_outside", args=(one.pk,))]

    look_outside.apply((one.pk,), throw=True)
    empty(queue)
    look_outside_everywhere()

    assert waiting(queue, "advise") == []
    assert Incident.objects.get().looked_outside_until is not None


def test_lost_mark_costs_one_message_and_no_more(queue: str, resources: list[Resource]) -> None:
    detect_everywhere()
    with redis.Redis.from_url(queue) as client:
        client.delete("sluice:waiting:advisor.tasks.detect_group")

    for _ in range(5):
        detect_everywhere()

    assert len(waiting(queue, "evaluate")) == 2 * len({one.organisation_id for one in resources})


def test_mark_of_a_message_that_a_killed_worker_took_ends_with_its_expiry(
    queue: str, clock: Callable[[float], None]
) -> None:
    detect_resource.apply_async((1,))
    with redis.Redis.from_url(queue) as client:
        # What a worker does that is killed before it begins.
        client.rpop("evaluate")

    assert detect_resource.apply_async((1,)) is None
    clock(EVALUATE_EXPIRES_S + 1)

    assert detect_resource.apply_async((1,)) is not None
    assert len(waiting(queue, "evaluate")) == 1


@pytest.mark.parametrize("taken", [False, True], ids=["done", "taken by a killed worker"])
def test_subject_has_its_turn_after_the_clock_was_an_hour_ahead(
    queue: str, clock: Callable[[float], None], resources: list[Resource], monkeypatch, taken: bool
) -> None:
    monkeypatch.setattr("advisor.tasks.time.time", one_waiting.time.time)
    clock(3600.0)
    detect_everywhere()
    sent = waiting(queue, "evaluate")
    if not taken:
        # It was done, an hour ahead.
        detect_group.before_start("id", sent[0].args, {})
    empty_list(queue, "evaluate")

    clock(-3600.0)
    detect_everywhere()

    assert waiting(queue, "evaluate") == sent


def empty_list(queue: str, name: str) -> None:
    with redis.Redis.from_url(queue) as client:
        client.delete(name)


def test_message_that_could_not_be_sent_leaves_no_mark(queue: str) -> None:
    with pytest.raises(TypeError):
        detect_resource.apply_async((1,), {"unknown": 1})

    assert detect_resource.apply_async((1,)) is not None


def test_task_runs_although_the_queue_does_not_answer(resources: list[Resource]) -> None:
    one_waiting._client.cache_clear()
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        detect_resource.apply((resources[0].pk,), throw=True)
    one_waiting._client.cache_clear()

    assert ResourceStatus.objects.get().looked_at is not None


def test_advice_has_its_turn_every_five_minutes(
    queue: str, clock: Callable[[float], None], resources: list[Resource], monkeypatch
) -> None:
    monkeypatch.setattr("advisor.tasks.time.time", one_waiting.time.time)
    turns = 0
    # A little more than ten minutes: at 0, 300 and 600 s.
    for _ in range(41):
        advise_everywhere()
        for message in waiting(queue, "advise"):
            app.tasks[f"advisor.tasks.{message.task}"].before_start("id", message.args, {})
            turns += 1
        with redis.Redis.from_url(queue) as client:
            client.delete("advise")
        clock(15.0)

    assert turns == 3 * len(resources)


def test_every_task_has_a_queue_limits_and_an_expiry() -> None:
    app.loader.import_default_modules()
    by_name = {queue.name: queue for queue in QUEUES}

    own = {name: task for name, task in app.tasks.items() if not name.startswith("celery.")}

    assert list(by_name) == ["evaluate", "advise", "notify", "report", "move", "upkeep"]
    assert {name.rpartition(".")[2] for name in own} == {
        task for queue in QUEUES for task in queue.tasks
    }
    for task in own.values():
        limits = by_name[task.waits_in]
        assert 0 < task.soft_time_limit == limits.soft_limit_s
        assert task.soft_time_limit < task.time_limit == limits.hard_limit_s
        assert task.expires == limits.expires_s
        assert app.amqp.router.route({}, task.name)["queue"].name == limits.name
