"""What is stated of one resource alone does not become one of all when that is removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from advisor.decisions import inventory
from advisor.models import (
    MaintenanceWindow,
    NotificationChannel,
    NotificationRule,
    Resource,
    ResourceKind,
)
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import stated_datastore
from tests.web.api.asking import program_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def rule_of(cluster: Cluster, *resources: Resource) -> NotificationRule:
    by, _ = NotificationChannel.objects.get_or_create(
        organisation=cluster.organisation, name="chat", kind="webhook", address="https://c.org/"
    )
    made = NotificationRule.objects.create(
        organisation=cluster.organisation, name="nights", channel=by
    )
    made.resources.set(resources)
    return made


def window_of(cluster: Cluster, *resources: Resource) -> MaintenanceWindow:
    made = MaintenanceWindow.objects.create(
        organisation=cluster.organisation, name="backup", starts_at=NOW, length_s=60.0
    )
    made.resources.set(resources)
    return made


STATED = {
    "rule": (rule_of, 'the rule "nights" of notifications names h1/up0 alone'),
    "window": (window_of, 'the maintenance window "backup" names h1/up0 alone'),
}


def by_command(cluster: Cluster) -> str:
    try:
        call_command("resource", "remove", "h1/up0", "--organisation", "acme")
    except CommandError as error:
        return str(error)
    return ""


def by_api(cluster: Cluster) -> str:
    program = program_of(cluster.people.owner, cluster.organisation)
    answer = program("DELETE", f"resources/{cluster.uplink.pk}")
    return "" if answer.status_code == 204 else str(answer.json()["detail"])


@pytest.mark.parametrize("remove", [by_command, by_api])
@pytest.mark.parametrize(("state", "why"), STATED.values(), ids=list(STATED))
def test_resource_that_something_names_alone_is_not_removed(
    cluster: Cluster, remove: Callable[[Cluster], str], state: Callable[..., Any], why: str
) -> None:
    other = stated_datastore(cluster.organisation, "nfs-07", "h1")
    made = state(cluster, cluster.uplink)

    assert why in remove(cluster)
    assert list(made.resources.all()) == [cluster.uplink]

    made.resources.add(other)
    assert remove(cluster) == ""
    assert list(made.resources.all()) == [other]


@pytest.mark.parametrize("state", [rule_of, window_of])
def test_what_names_a_device_goes_along_to_the_resource_that_takes_it_over(
    cluster: Cluster, state: Callable[..., Any]
) -> None:
    found = stated_datastore(cluster.organisation, "h1/sda", "h1")
    found.discovered = True
    found.save()
    (at,) = found.attachments.all()
    made = state(cluster, found)

    whole = inventory.add_resource(
        organisation=cluster.organisation, name="san-1", kind=ResourceKind.DATASTORE,
        attachments=[("h2", "sdb")],
    )  # fmt: skip
    inventory.attach(whole, at.host.name, at.device)

    assert list(made.resources.all()) == [whole]
