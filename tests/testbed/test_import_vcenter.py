"""`sluice import vcenter` on a vCenter of govmomi's simulator, alone and beside Telegraf.

The simulator holds all settings that are read here, and has no permissions of its own. What it
lacks (rules of disks, thresholds that are learnt) is in the tests of exports.
"""

from __future__ import annotations

import os
import re
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.actor import COMMAND_LINE
from accounts.models import Organisation
from advisor.decisions.found.rules import stated_rules
from advisor.decisions.sources.problems import StatedSource
from advisor.decisions.sources.reading import read_where_due
from advisor.decisions.sources.stating import ask_trial, state_source
from advisor.decisions.vcenter.apply import Imported, import_vcenter
from advisor.models import Allocation, Resource, Workload
from ingest.core.source_errors import SourceError
from ingest.core.vcenter.inventory import Inventory
from ingest.core.vcenter.managed_object import ManagedObject
from ingest.core.vcenter.read_inventory import read_inventory
from ingest.imports.vcenter import Account, read_file, read_live
from tests.testbed.conftest import Laboratory, wait_for
from tests.testbed.programs import bed_file
from tests.testbed.telegraf import collecting, configuration
from tests.testbed.test_vsphere import GUESTS, HOSTS, documented

pytestmark = [pytest.mark.vcenter, pytest.mark.slow, pytest.mark.timeout(240)]

# Those of the documented configuration of Telegraf.
ACCOUNT = Account(user="reader@vsphere.local", password="...")
FIRST, SECOND = sorted(GUESTS)


@contextmanager
def running(*options: str) -> Iterator[tuple[str, str]]:
    """A vCenter: its address, and the file of its certificate if it speaks TLS."""
    process = subprocess.Popen(
        [bed_file("vcenter"), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        yield address, process.stdout.readline().strip() if "-tls" in options else ""
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    with running() as (address, _):
        yield f"http://{address}"


@pytest.fixture(scope="module")
def encrypted() -> Iterator[tuple[str, Path]]:
    with running("-tls") as (address, certificate):
        yield f"https://{address}", Path(certificate)


def test_settings_are_read(plain: str) -> None:
    found = read_inventory(read_live(plain, ACCOUNT))

    first, second = sorted(found.guests, key=lambda one: one.name)
    assert {first.name, second.name} == GUESTS
    assert {first.host, second.host} <= HOSTS
    ((disk,), (other,)) = first.disks, second.disks
    assert disk.instance == "scsi0:0"
    assert disk.controls is not None
    assert (disk.controls.shares, disk.controls.limit) == (2000, 500.0)
    assert other.controls is not None
    assert (other.controls.shares, other.controls.limit) == (300, None)
    assert first.nics[0].controls.limit == 100e6
    (store,) = found.stores
    assert set(store.hosts) == HOSTS
    assert store.congestion is not None
    assert (store.congestion.enabled, store.congestion.threshold_ms) == (True, 20)
    assert [rule.name for one in found.clusters for rule in one.rules] == ["never both"]
    assert [(one.name, one.controls.reservation) for one in found.traffic] == [("vmotion", 250e6)]
    assert found.problems == ()


def test_large_inventory_is_read_in_pages() -> None:
    seen: list[tuple[str, int]] = []

    with running("-machines", "25") as (address, _):
        read_live(f"http://{address}", ACCOUNT, page=10, progress=lambda *page: seen.append(page))

    assert [count for kind, count in seen if kind == "VirtualMachine"] == [10, 20, 25]


def test_certificate_that_is_given_is_trusted(encrypted: tuple[str, Path]) -> None:
    url, certificate = encrypted

    assert read_live(url, ACCOUNT, ca_file=certificate)


Told = Callable[[str, Path], list[ManagedObject]]


@pytest.mark.parametrize(
    ("read", "complaint"),
    [
        (lambda url, _: read_live(url, ACCOUNT), "is not trusted: self-signed certificate"),
        (
            lambda url, file: read_live(url, Account(user="x", password="y"), ca_file=file),
            "refuses user x: wrong name or password",
        ),
        (
            lambda url, file: read_live(url.replace("https", "http"), ACCOUNT),
            # Either comes first: its answer, or the end of the connection.
            r"answers 400 Bad Request; is it a vCenter\?|cannot be reached",
        ),
        (
            lambda url, file: read_live(f"{url}/ui", ACCOUNT, ca_file=file),
            "is no address such as https://",
        ),
    ],
    ids=["certificate", "password", "no TLS", "page"],
)
def test_reason_is_told_where_nothing_can_be_read(
    encrypted: tuple[str, Path], read: Told, complaint: str
) -> None:
    with pytest.raises(SourceError, match=complaint):
        read(*encrypted)


@pytest.mark.django_db
def test_source_reads_it_again_and_again(encrypted: tuple[str, Path], settings: Settings) -> None:
    """By its certificate as authority, and by the fingerprint of it."""
    settings.SOURCE_ADDRESSES = "any"
    url, certificate = encrypted
    acme = Organisation.objects.create(slug="acme", name="Acme")
    pem = certificate.read_text(encoding="ascii")
    fingerprint = sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
    said: dict[str, str] = {}
    for name, trust in {"known": (pem, ""), "pinned": ("", fingerprint)}.items():
        stated = StatedSource(
            name=name, address=url, user=ACCOUNT.user, password=ACCOUNT.password,
            authority=trust[0], fingerprint=trust[1],
        )  # fmt: skip
        now = timezone.now()
        row = state_source(organisation=acme, stated=stated, actor=COMMAND_LINE, now=now)
        ask_trial(row, actor=COMMAND_LINE, now=now)
        read_where_due(row.pk, now=now)
        row.refresh_from_db()
        assert row.trial_worked is True, row.trial_says
        assert "lets reader@vsphere.local in" in row.trial_says
        said[name] = row.says

    assert said["known"].startswith("2 VMs and 1 datastores read; ")
    assert said["known"] == said["pinned"]


def test_server_without_tls_is_told(plain: str) -> None:
    with pytest.raises(SourceError, match="speaks no TLS"):
        read_live(plain.replace("http", "https"), ACCOUNT)


def test_documented_export_says_what_the_running_vcenter_does(plain: str, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "vcenter.md").read_text()
    found = re.search(r"```sh[^\n]*\n(collect\(\).*?)sluice import", page, re.DOTALL)
    assert found is not None
    (tmp_path / "govc").symlink_to(bed_file("govc"))
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GOVC_URL": f"{plain}/sdk",
        "GOVC_USERNAME": ACCOUNT.user,
        "GOVC_PASSWORD": ACCOUNT.password,
    }

    subprocess.run(["bash", "-euc", found[1]], cwd=tmp_path, env=environment, check=True)

    exported = read_inventory(read_file(tmp_path / "vcenter.json"))
    assert exported == read_inventory(read_live(plain, ACCOUNT))


@pytest.fixture(scope="module")
def collected(laboratory: Laboratory, plain: str, telegraf: Path) -> Laboratory:
    """What Telegraf saw of the same vCenter."""
    text = configuration(
        documented(plain.removeprefix("http://")),
        url=laboratory.server.url,
        secret=laboratory.tenant.secret,
    )

    def seen() -> bool:
        laboratory.find()
        own = Allocation.objects.filter(workload__organisation=laboratory.tenant.organisation)
        return laboratory.workloads() == GUESTS and own.count() == len(GUESTS)

    with collecting(telegraf, laboratory.folder, text) as log:
        wait_for(seen, what="both guests on their datastore", or_show=log, deadline_s=180)
    return laboratory


def taken(laboratory: Laboratory, inventory: Inventory, *, apply: bool) -> Imported:
    return import_vcenter(
        laboratory.tenant.organisation, inventory, name="vc", apply=apply, now=timezone.now()
    )


@pytest.mark.django_db
@pytest.mark.telegraf
def test_machine_of_vcenter_is_the_workload_that_telegraf_saw(
    collected: Laboratory, plain: str
) -> None:
    inventory = read_inventory(read_live(plain, ACCOUNT))

    first = taken(collected, inventory, apply=True)
    collected.find()
    second = taken(collected, inventory, apply=True)

    # Its samples call the simulator's datastore by its number.
    assert len(first.proposal.allocations) == len(GUESTS)
    assert second.is_empty
    assert set(Workload.objects.values_list("name", flat=True)) == GUESTS
    rows = Allocation.objects.filter(vanished_at=None).order_by("workload__name")
    assert list(rows.values_list("workload__name", "vdisk", "shares", "limit", "found")) == [
        (FIRST, "scsi0:0", 2000, 500.0, False),
        (SECOND, "scsi0:0", 300, None, False),
    ]
    store = Resource.objects.get(kind="datastore")
    assert (store.threshold, store.threshold_mode) == (20.0, "fixed")
    assert f"keep-apart: '{FIRST}' '{SECOND}'" in stated_rules(collected.tenant.organisation)
