"""The product with who writes to it and who asks it, on a disk that fails, all in one folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.chaos.agent import Agent, server_config
from bench.chaos.inflict import Machine
from bench.chaos.preload import Preload
from bench.chaos.product import AGENT, PORT, SENDER, Product
from bench.chaos.volatile_disk import VolatileDisk
from bench.chaos.writer import SENDERS, Writer
from config.paths import DataDir

DISK_BYTES = 8 * 2**30
WINDOW_S = 2.0
"""Resources are judged by windows of so long here, 10 s otherwise: a new state is there sooner."""
DISKS = 3 * SENDERS
FOUND_WITHIN_S = 180.0
SETTLED_S = 12.0
"""Devices are looked for each ten seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """All that a scenario needs; `resources` are judged all the time."""

    product: Product
    machine: Machine
    writer: Writer
    agent: Agent
    resources: int


@contextmanager
def bed(folder: Path, say: Callable[[str], None]) -> Iterator[Bed]:
    """Started, with samples and states; away at the end."""
    disk = VolatileDisk(folder, size_bytes=DISK_BYTES)
    disk.switch_on()
    preload = Preload(folder)
    data = DataDir(disk.mount_point / "s")
    backups = disk.mount_point / "backups"
    environment = {**preload.environment, "SLUICE_BACKUP_TARGET": str(backups)}
    product = Product(data, folder / "run.log", environment)
    machine = Machine(product, disk, preload)
    try:
        began_s = time.monotonic()
        product.start()
        product.wait_until_ready()
        say(f"the product was ready after {time.monotonic() - began_s:.0f} s")
        writer, agent = _clients(data)
        writer.start()
        agent.start()
        try:
            resources = _found(product)
            say(f"{resources} resources are judged")
            yield Bed(product=product, machine=machine, writer=writer, agent=agent,
                      resources=resources)  # fmt: skip
        finally:
            writer.stop()
            agent.stop()
    finally:
        if product.is_running:
            product.stop()
        disk.take_away()


def _clients(data: DataDir) -> tuple[Writer, Agent]:
    """With a token, and the keys of an enrolled host."""
    os.environ |= {"SLUICE_DATA_DIR": str(data.root), "DJANGO_SETTINGS_MODULE": "config.settings"}
    os.environ.pop("DATABASE_URL", None)
    import django

    django.setup()
    from django.db import connection

    from accounts.models import Organisation, Scope, Token
    from advisor.decisions.enrolment import enroll

    organisation = Organisation.objects.get()
    _, secret = Token.objects.issue(organisation=organisation, scope=Scope.INGEST, name="chaos")
    keys = enroll(organisation=organisation, host_name="chaos-0")
    connection.close()
    url = f"http://{AGENT}:{PORT}"
    config = server_config(
        url, token=keys.token, server_key=keys.server_key, report_key=keys.report_key
    )
    return Writer(secret, (SENDER, PORT)), Agent("chaos-0", config)


def _found(product: Product) -> int:
    """How many resources are judged by samples; by short windows from now on."""
    deadline = time.monotonic() + FOUND_WITHIN_S
    while _judged(product) < DISKS:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {_judged(product)} resources are judged")
        time.sleep(1.0)
    time.sleep(SETTLED_S)
    product.ask("UPDATE advisor_resource SET window_s = %s", (WINDOW_S,))
    return _judged(product)


def _judged(product: Product) -> int:
    """An uplink of which nobody knows the capacity has no state."""
    count = "SELECT count(*) FROM advisor_resourcestatus WHERE last_window_at IS NOT NULL"
    return int(product.ask(count)[0][0])
