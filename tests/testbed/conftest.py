"""A real web server for a whole module, and what the laboratory's collectors stored through it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from advisor.core.resource import ResourceKind
from advisor.decisions.found.keep import keep_inventory
from advisor.models import Allocation, Resource, Workload, WorkloadKind
from ingest.models import Series, StatedFact
from ingest.partitions import TABLES
from tests.ingest.scenario import Tenant, make_tenant
from tests.ingest.wire import WebServer


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """An organisation, the server that its collectors send to, and a folder for their files."""

    tenant: Tenant
    server: WebServer
    folder: Path

    def said(self, kind: str, name: str) -> set[tuple[str, str, str]]:
        """What was said under this name: host, subject and value."""
        stated = StatedFact.objects.filter(
            organisation=self.tenant.organisation, kind=kind, name=name
        )
        return set(stated.values_list("host", "subject", "value"))

    def find(self) -> None:
        """Look for datastores and workloads in what was stored, as where somebody asks for it.

        A worker would rest after a look that was slow.
        """
        keep_inventory(self.tenant.organisation, now=timezone.now(), is_asked=True)

    def datastores(self) -> list[set[tuple[str, str]]]:
        """The datastores that were found: of each, its hosts and devices."""
        found = Resource.objects.filter(
            organisation=self.tenant.organisation, kind=ResourceKind.DATASTORE, vanished_at=None
        )
        return [set(one.attachments.values_list("host__name", "device")) for one in found]

    def workloads(self) -> set[str]:
        """The names of the virtual machines that were found."""
        found = Workload.objects.filter(
            organisation=self.tenant.organisation, kind=WorkloadKind.VM, vanished_at=None
        )
        return set(found.values_list("name", flat=True))

    def allocations(self, workload: str) -> set[tuple[str, str]]:
        """Where the workload of this name was found: its host, and the name of the resource."""
        found = Allocation.objects.filter(
            workload__organisation=self.tenant.organisation,
            workload__name=workload,
            vanished_at=None,
        )
        return set(found.values_list("host__name", "resource__name"))

    def subjects(self, measurement: str) -> set[tuple[str, str]]:
        """Of what there are samples in this table: host and subject."""
        series = Series.objects.filter(
            organisation=self.tenant.organisation, measurement=measurement
        )
        return set(series.values_list("host__name", "subject"))


def wait_for(
    holds: Callable[[], bool], *, what: str, or_show: Path, deadline_s: float = 90
) -> None:
    """Return when it holds; after the deadline fail with the end of a log."""
    deadline = time.monotonic() + deadline_s
    while not holds():
        if time.monotonic() > deadline:
            log = or_show.read_text(errors="replace")[-4000:] if or_show.exists() else "no log"
            pytest.fail(f"not in {deadline_s:.0f} s: {what}\n{log}")
        time.sleep(0.5)


@pytest.fixture(scope="module")
def laboratory(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Laboratory]:
    """What is stored is committed, and gone after the module's last test."""
    folder = tmp_path_factory.mktemp("laboratory")
    server = WebServer(folder)
    with django_db_blocker.unblock():
        try:
            tenant = make_tenant("laboratory")
            server.start()
            yield Laboratory(tenant=tenant, server=server, folder=folder)
        finally:
            server.stop()
            with connection.cursor() as cursor:
                # An analysis by PostgreSQL of what was just stored may hold the tables meanwhile.
                cursor.execute("SET lock_timeout = '60s'")
                call_command("flush", verbosity=0, interactive=False)
                cursor.execute("RESET lock_timeout")
                for table in TABLES:
                    cursor.execute(f"TRUNCATE {table}")
