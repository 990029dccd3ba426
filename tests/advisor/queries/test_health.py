"""The health of Sluice as one organisation sees it; nothing of others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import override_settings
from django.utils import timezone

from accounts.models import Organisation
from advisor.core.health.figures import Figures, HostLag, Spread
from advisor.models import Resource, ResourceStatus
from advisor.pipeline import work_figures
from advisor.pipeline.failed_work import INSTALLATION, Subject, keep_failure, solve
from advisor.queries.health import health_figures
from config.paths import DataDir
from ingest.models import Host
from tests.advisor.stated_datastores import stated_datastore
from tests.config.queued import empty

pytestmark = [pytest.mark.valkey, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def queue(valkey_url: str) -> Iterator[str]:
    empty(valkey_url)
    yield valkey_url
    empty(valkey_url)


@pytest.fixture
def acme() -> Organisation:
    return Organisation.objects.create(slug="acme", name="Acme")


@pytest.fixture
def globex() -> Organisation:
    return Organisation.objects.create(slug="globex", name="Globex")


NOW = timezone.now()


def figures(organisation: Organisation, *, with_installation: bool = False) -> Figures:
    return health_figures(organisation=organisation, now=NOW, with_installation=with_installation)


def evaluated(organisation: Organisation, name: str, seconds_ago: float) -> Resource:
    resource = stated_datastore(organisation, name, f"{organisation.slug}-h1")
    looked_at = NOW - timedelta(seconds=seconds_ago)
    ResourceStatus.objects.create(resource=resource, looked_at=looked_at)
    return resource


def test_age_of_evaluation_is_that_of_the_organisations_resources(
    acme: Organisation, globex: Organisation
) -> None:
    for name, seconds_ago in (("a", 4.0), ("b", 8.0), ("c", 130.0)):
        evaluated(acme, name, seconds_ago)
    evaluated(globex, "d", 900.0)

    found = figures(acme).evaluation

    assert found.age == Spread(p50_s=8.0, p99_s=130.0, worst_s=130.0, worst="c")
    # Beyond two minutes it is stale.
    assert (found.resources, found.stale) == (3, 1)


def test_resource_that_was_never_evaluated_is_stale_two_minutes_after_it_was_added(
    acme: Organisation,
) -> None:
    resource = stated_datastore(acme, "a", "h1")
    just_added = figures(acme).evaluation
    Resource.objects.filter(pk=resource.pk).update(created_at=NOW - timedelta(minutes=3))

    later = figures(acme).evaluation

    assert (just_added.stale, just_added.age) == (0, None)
    assert later.stale == 1


def test_recent_lag_names_the_worst_resource(acme: Organisation) -> None:
    one, other = evaluated(acme, "a", 1.0), evaluated(acme, "b", 1.0)
    for resource, lags_s in ((one, [2.0] * 98), (other, [2.0, 40.0])):
        work_figures.note_lags(organisation=acme.pk, lags_s={resource.pk: lags_s}, now=NOW)

    found = figures(acme).evaluation.recent

    assert found is not None
    assert (found.worst, found.worst_s) == ("b", 40.0)
    # 99 of the 100 lags are 2 s.
    assert found.p50_s == pytest.approx(2.0, rel=0.05)
    assert found.p99_s == pytest.approx(2.0, rel=0.05)


def test_every_host_has_its_lag_and_the_silent_are_counted(acme: Organisation) -> None:
    ages = {"h1": 5, "h2": 300, "h3": 60, "h4": 500, "ahead": -30}
    for name, seconds_ago in ages.items():
        at = NOW - timedelta(seconds=seconds_ago)
        Host.objects.create(organisation=acme, name=name, last_sample_at=at, heard_at=at)
    Host.objects.create(organisation=acme, name="never")

    found = figures(acme).ingest

    # h2 and h4 for more than two minutes, and the one that never sent.
    assert (found.hosts, found.silent) == (6, 3)
    # The one that never sent has none; a clock that is ahead is no lag.
    assert found.lags == (
        HostLag(host="h4", lag_s=500.0),
        HostLag(host="h2", lag_s=300.0),
        HostLag(host="h3", lag_s=60.0),
        HostLag(host="h1", lag_s=5.0),
        HostLag(host="ahead", lag_s=0.0),
    )


def test_slowest_task_names_its_subject_to_its_own_organisation_alone(
    acme: Organisation, globex: Organisation
) -> None:
    resource = evaluated(acme, "nfs-07", 1.0)
    work_figures.note_end(
        run="1", task="detect_resource", subject=f"resource {resource.pk}", seconds=9.0, now=NOW
    )

    own, foreign = (figures(one).work for one in (acme, globex))

    assert own is not None
    assert foreign is not None
    assert own.slowest is not None
    assert foreign.slowest is not None
    assert (own.slowest.task, own.slowest.subject) == ("detect_resource", "nfs-07")
    assert (foreign.slowest.task, foreign.slowest.subject) == ("detect_resource", "")


def test_failed_work_is_shown_to_its_organisation_open_ones_first(
    acme: Organisation, globex: Organisation
) -> None:
    resource = stated_datastore(acme, "nfs-07", "h1")
    for minutes, task in enumerate(("detect_resource", "advise_resource", "recommend_resource")):
        subject = Subject(resource=resource.pk)
        at = NOW + timedelta(minutes=minutes)
        keep_failure(task=task, subject=subject, reason="It broke.", now=at)
    solve(task="recommend_resource", subject=Subject(resource=resource.pk), now=NOW)
    keep_failure(task="tidy", subject=INSTALLATION, reason="Nobody's.", now=NOW)

    own = figures(acme)

    assert [(one.task, one.subject) for one in own.failures] == [
        ("advise_resource", "nfs-07"),
        ("detect_resource", "nfs-07"),
        ("recommend_resource", "nfs-07"),
    ]
    assert own.failing == 2
    assert (figures(globex).failing, figures(globex).failures) == (0, ())
    assert [one.task for one in figures(globex, with_installation=True).failures] == ["tidy"]
    # That work for all fails concerns everybody; why may name somebody.
    assert own.failing_installation == figures(globex).failing_installation == 1


def test_storage_is_that_of_the_data_directory_and_the_database(
    acme: Organisation, tmp_path: Path
) -> None:
    with override_settings(DATA_DIR=DataDir(tmp_path)):
        found = figures(acme).storage
    with override_settings(DATA_DIR=DataDir(tmp_path / "absent")):
        absent = figures(acme).storage

    assert found.directory == str(tmp_path)
    assert found.free_bytes is not None
    assert found.total_bytes is not None
    assert 0 < found.free_bytes < found.total_bytes
    # An empty database has about 8 MB.
    assert found.database_bytes > 5_000_000
    assert absent.free_bytes is None


def test_without_the_queues_server_the_rest_is_told(acme: Organisation) -> None:
    evaluated(acme, "a", 4.0)
    work_figures._client.cache_clear()
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        found = figures(acme)
    work_figures._client.cache_clear()

    assert found.work is None
    assert found.evaluation.recent is None
    assert found.evaluation.resources == 1
