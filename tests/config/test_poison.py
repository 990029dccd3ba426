"""Resources that raise, hang or cannot be interrupted; a real worker goes on with the others."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.inventory import add_resource
from advisor.models import FailedWork, Incident, Resource, ResourceKind, ResourceStatus
from advisor.tasks import advise_everywhere, detect_everywhere, recommend_everywhere
from tests.config.queued import empty

pytestmark = [pytest.mark.valkey, pytest.mark.django_db(transaction=True), pytest.mark.slow]

DEADLINE_S = 110.0
HEALTHY = ("sda", "sdb", "sdc")


@pytest.fixture
def log(valkey_url: str, transactional_db: None, tmp_path: Path) -> Iterator[Path]:
    """What a worker of the queues evaluate and advise says."""
    empty(valkey_url)
    yield tmp_path / "worker.log"
    empty(valkey_url)


@contextmanager
def worker(log: Path, *queues: str) -> Iterator[None]:
    database = connection.settings_dict
    host, name = quote(str(database["HOST"]), safe=""), database["NAME"]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"postgres://{database['USER']}@{host}:{database['PORT']}/{name}",
        "CELERY_SKIP_CHECKS": "1",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "celery", "--app=tests.config.poisoned_worker", "worker",
                f"--queues={','.join(queues)}", "--concurrency=2", "--loglevel=INFO",
                "--without-gossip", "--without-mingle",
            ],
            cwd=Path(__file__).resolve().parents[2],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(condition: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        time.sleep(0.1)


OF_A_RESOURCE = {"detect_resource", "recommend_resource", "advise_resource"}


def make(slug: str, *names: str) -> None:
    organisation = Organisation.objects.create(slug=slug, name=slug.title())
    for name in names:
        add_resource(
            organisation=organisation,
            name=f"h1/{name}",
            kind=ResourceKind.DATASTORE,
            attachments=[("h1", name)],
        )


def judged() -> set[str]:
    found = ResourceStatus.objects.exclude(looked_at=None)
    return set(found.values_list("resource__name", flat=True))


def failed(log: Path) -> set[str]:
    """The tasks that raised, by their names without the module."""
    return set(re.findall(r"Task advisor\.tasks\.(\w+)\[[^]]*\] raised", log.read_text()))


@pytest.mark.timeout(300)
def test_resource_that_raises_in_every_task_ends_no_other(log: Path) -> None:
    # All are judged together, and after the failure each alone.
    make("acme", "raises", *HEALTHY)
    poisoned = Resource.objects.get(name="h1/raises")
    # Policies are looked for where there is an incident.
    Incident.objects.create(
        organisation=poisoned.organisation, resource=poisoned, started_at=timezone.now()
    )

    with worker(log, "evaluate", "advise"):
        detect_everywhere()
        wait_for(lambda: len(judged()) == 3, log)
        recommend_everywhere()
        advise_everywhere()
        # Each of the three kinds failed for it, and is said with its name and number in the log.
        wait_for(lambda: failed(log) == OF_A_RESOURCE, log)
        wait_for(lambda: ResourceStatus.objects.filter(advice_gap__gt="").count() == 3, log)

    assert judged() == {f"h1/{name}" for name in HEALTHY}
    # Each is kept with its reason, and nothing of the others.
    kept = FailedWork.objects.filter(solved_at=None).order_by("task")
    assert [(one.task, str(one.resource)) for one in kept] == [
        ("advise_resource", "h1/raises"),
        ("detect_resource", "h1/raises"),
        ("recommend_resource", "h1/raises"),
    ]
    assert all("RuntimeError: poison (line " in one.reason for one in kept)
    # People see that nobody has judged it, and what is known of the others.
    assert "unknown" in status_of("acme")
    assert "no samples yet; is Telegraf running on h1?" in status_of("acme")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "said", "kept_as"),
    [
        # The group is interrupted, and then the resource alone is.
        pytest.param(
            "hangs",
            "SoftTimeLimitExceeded",
            ("detect_resource", "It took longer than 40 s and was interrupted."),
            marks=pytest.mark.long,
        ),
        (
            "hangs-for-good",
            "Hard time limit (50s) exceeded for advisor.tasks.detect_group",
            (
                "detect_group",
                "It took longer than 50 s, could not be interrupted, and its process was killed.",
            ),
        ),
    ],
)
def test_resource_that_hangs_is_ended_by_its_limit_and_the_others_go_on(
    log: Path, name: str, said: str, kept_as: tuple[str, str]
) -> None:
    make("acme", name)
    make("globex", *HEALTHY)

    with worker(log, "evaluate"):
        detect_everywhere()
        # The other slot judges the others while one hangs.
        wait_for(lambda: len(judged()) == 3, log)
        wait_for(lambda: said in log.read_text(), log)
        wait_for(FailedWork.objects.exists, log)
        # And its slot is free again afterwards.
        ResourceStatus.objects.update(looked_at=None)
        detect_everywhere()
        wait_for(lambda: len(judged()) == 3, log)

    assert judged() == {f"h1/{name}" for name in HEALTHY}
    assert Resource.objects.count() == 4
    kept = FailedWork.objects.get()
    assert (kept.task, kept.reason, kept.solved_at) == (*kept_as, None)


def status_of(slug: str) -> str:
    out = StringIO()
    with suppress(SystemExit):
        call_command("status", organisation=slug, stdout=out)
    return out.getvalue()
