"""The pasted line on a Debian 13 with systemd: its units are started, replaced and removed.

The guest has no network. It is answered by what the real web server answered here to a host that
says the same; that it does say the same is asserted.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from accounts.models import JoinMode, Organisation, Runs
from accounts.services.join_tokens import Terms, make_join_token
from tests.testbed.package.fixed_signer import known_to_guests
from tests.testbed.package.prepared import HOST_FILES, PORT, debian_root
from tests.testbed.programs import debian13
from tests.testbed.storage.guest import KERNELS, StorageGuest
from tests.testbed.storage.null_disk import NAME
from tests.testbed.test_package import CAPACITY, holds_limit

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(1500),
]
PLACE = f"127.0.0.1:{PORT}"
SAYS = {
    "host": "h1", "runs": "service", "collects": "reader", "disks": NAME, "interfaces": "eth0 ",
    "subtrees": "/machine.slice /system.slice ", "cgroups": "v2", "interval": "10",
}  # fmt: skip


def answered(folder: Path) -> dict[str, str]:
    """What the web server answers, in files, by name; and the key with which documents are signed.

    The database forgets all of it.
    """
    with transaction.atomic(), known_to_guests() as key:
        organisation = Organisation.objects.create(slug="acme", name="Acme")
        terms = Terms(mode=JoinMode.ENFORCE, runs=Runs.SERVICE)
        _, secret = make_join_token(organisation=organisation, terms=terms, now=timezone.now())
        client = Client(headers={"Host": PLACE})
        path = f"/join/{secret}"
        script = client.get(path).content
        archive = client.post(path, SAYS).content
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            token = packed.extractfile("etc/token").read().decode()  # type: ignore[union-attr]
        known = Client(headers={"Host": PLACE, "Authorization": f"Token {token}"})
        again = known.post(path, SAYS).content
        transaction.set_rollback(True)
    for name, content in (("script", script), ("archive", archive), ("again", again)):
        (folder / name).write_bytes(content)
    places = {name: f"{HOST_FILES}{folder}/{name}" for name in ("script", "archive", "again")}
    return places | {"path": path, "key": key}


@pytest.fixture(scope="module")
def joined(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> dict[str, Any]:
    """What was seen at each step of `tests/testbed/package/joins.py`."""
    if not (debian13() / ".built").exists():
        pytest.skip("no Debian 13; make testbed-programs obtains it (package debootstrap)")
    folder = tmp_path_factory.mktemp("join")
    with django_db_blocker.unblock():
        files = answered(folder)
    with StorageGuest(KERNELS[0], folder, root=debian_root()) as guest:
        seen: dict[str, Any] = guest.run(
            "tests.testbed.package.joins", port=PORT, capacity_iops=CAPACITY, **files
        )
    return seen


def test_line_starts_the_agent_and_its_timer_as_services(joined: dict[str, Any]) -> None:
    assert "the agent runs as the service sluice-enforcer" in joined["pasted"]
    assert joined["started"] == {
        "sluice-enforcer.service": "active", "sluice-enforcer-dead-man.timer": "active",
    }  # fmt: skip
    assert joined["enabled"] == "enabled"


def test_host_said_what_the_server_was_asked_here(joined: dict[str, Any]) -> None:
    first, second = joined["asked"]

    for said in (first, second):
        assert {name: said.get(name, [""])[0] for name in SAYS} == SAYS
        assert said["system"][0].startswith("Debian GNU/Linux 13")


def test_agent_of_the_line_enforces(joined: dict[str, Any]) -> None:
    assert joined["limit"]["outcomes"]["vm1.service"][0] in {"applied", "unchanged"}
    assert holds_limit(joined["limit"]["limits"])


def test_line_pasted_again_brings_a_new_process_and_the_limit_never_went(
    joined: dict[str, Any],
) -> None:
    assert joined["pasted again"]["state"]["active"] == "active"
    assert all(map(holds_limit, joined["pasted again"]["limits"]))


def test_uninstall_puts_back_what_was_found_and_leaves_no_file(joined: dict[str, Any]) -> None:
    assert joined["restored"] == joined["found"]
    assert joined["left behind"] == []
    assert joined["afterwards"] == "inactive"
