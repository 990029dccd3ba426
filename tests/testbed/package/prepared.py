"""The agent's package, an enrolled host, and the README's lines that install it there."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from django.core.management import call_command
from django.db import transaction

import enforcers
from accounts.models import Organisation
from enforcers.version import VERSION
from tests.testbed.package.fixed_signer import known_to_guests
from tests.testbed.programs import debian13
from tests.testbed.storage.guest import Root
from tests.testbed.storage.null_disk import NAME

CHECKOUT = Path(enforcers.__file__).parents[1]
HOST_FILES = "/host"
"""Where the guest has the machine's files."""
PORT = 8000
# What a person fills in.
FILLED_IN = {
    "https://sluice.example.com": f"http://127.0.0.1:{PORT}",
    "VERSION": VERSION,
    "=sda": f"={NAME}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A folder with the package and what enrolling wrote, as the guest sees it.

    `lines` are those that a person types on the host, and the service signs with `key`.
    """

    folder: str
    lines: list[str]
    key: str


def lines_of_the_readme() -> list[str]:
    """The block under the package's heading."""
    page = (CHECKOUT / "enforcers/README.md").read_text()
    section = page.partition("## As a package with systemd\n")[2].partition("\n## ")[0]
    lines = section.partition("\n```sh ")[2].partition("\n")[2].partition("\n```")[0].splitlines()
    for written, meant in FILLED_IN.items():
        assert any(written in line for line in lines), written
        lines = [line.replace(written, meant) for line in lines]
    return lines


def debian_root() -> Root:
    """A guest's root that is Debian 13, as it is before anything is installed."""
    return Root(
        first=CHECKOUT / "tests/testbed/package/init",
        python="/usr/bin/python3",
        parameters=f"guest_debian={debian13()}",
        prefix=HOST_FILES,
    )


def prepare(folder: Path) -> Prepared:
    """Build the package into the folder and enrol the host there; the database must be open."""
    subprocess.run(["scripts/deb", folder], cwd=CHECKOUT, check=True, capture_output=True)
    on_the_server, *on_the_host = lines_of_the_readme()
    with known_to_guests() as key:
        _enroll(on_the_server, folder)
    return Prepared(
        folder=f"{HOST_FILES}{folder}",
        lines=on_the_host,
        key=key,
    )


def _enroll(line: str, folder: Path) -> None:
    """Run the line of the server there, against a database that forgets it."""
    program, *words = shlex.split(line)
    assert program == "sluice"
    out = words.index("--out") + 1
    words[out] = str(folder / words[out])
    with transaction.atomic():
        Organisation.objects.create(slug="acme", name="Acme")
        call_command(*words)
        transaction.set_rollback(True)
