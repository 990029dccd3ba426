"""`sluice import vcenter`: take over what Storage I/O Control and Storage DRS were told."""  # noqa: N999 (the word people type)

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from accounts.management.product_command import Noted, note
from accounts.models import Organisation
from advisor.decisions.policy_file.decide.write import policy_file_text
from advisor.decisions.vcenter.apply import Imported, import_vcenter, vcenter_as_policy_file
from advisor.management.given_secret import given_password
from advisor.management.policy_file_command import write_whole
from advisor.management.product_command import ProductCommand
from advisor.management.vcenter_text import import_json, import_text
from ingest.core.source_errors import SourceError
from ingest.core.vcenter.inventory import Inventory
from ingest.core.vcenter.managed_object import ManagedObject
from ingest.core.vcenter.read_inventory import read_inventory
from ingest.imports.vcenter import Account, read_file, read_live


class Command(ProductCommand):
    help = (
        "Take shares, limits, reservations, congestion thresholds and rules from a vCenter, or "
        "from a file that govc wrote, and say what has no counterpart. Shows what would change; "
        "changes it with --apply, but on no host. Also typed as: sluice import vcenter"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "source", metavar="URL|FILE",
            help="https://vcenter.example.com, or a file of: govc collect -json",
        )  # fmt: skip
        parser.add_argument("--user", help="account with the role Read-only")
        parser.add_argument(
            "--password-file", type=Path, metavar="FILE",
            help="file with the password; otherwise SLUICE_VCENTER_PASSWORD, or it is asked for",
        )  # fmt: skip
        parser.add_argument(
            "--ca-file", type=Path, metavar="FILE",
            help="certificate of the authority that signed the vCenter's, in PEM",
        )  # fmt: skip
        parser.add_argument(
            "--name",
            help="name of the vCenter in the rules; default: its host, or the file's name",
        )
        then = parser.add_mutually_exclusive_group()
        then.add_argument("--apply", action="store_true", help="take over what is shown")
        then.add_argument(
            "--policy-file", type=Path, metavar="FILE",
            help="change nothing, and write all that would be stated as a policy file",
        )  # fmt: skip

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        try:
            inventory = read_inventory(self._objects(options))
        except SourceError as error:
            raise CommandError(str(error)) from error
        if not (inventory.guests or inventory.stores):
            raise CommandError(
                "no virtual machine and no datastore was read; give the account the role "
                "Read-only on the vCenter, with propagation, or export more of it"
            )
        found = _imported(organisation, inventory, options)
        if options["as_json"]:
            self.show_json(import_json(found))
        else:
            self.stdout.write(import_text(found))

    def _objects(self, options: dict[str, Any]) -> list[ManagedObject]:
        if "://" not in options["source"]:
            return read_file(Path(options["source"]))
        if not options["user"]:
            raise CommandError("a running vCenter needs --user")
        account = Account(
            user=options["user"],
            password=given_password(options["user"], options["password_file"]),
        )
        return read_live(
            options["source"], account, ca_file=options["ca_file"], progress=self._progress
        )

    def _progress(self, kind: str, count: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r\x1b[K{count} of {kind}", ending="")
            self.stderr.flush()


def _imported(
    organisation: Organisation, inventory: Inventory, options: dict[str, Any]
) -> Imported:
    name, now = _name(options), timezone.now()
    path: Path | None = options["policy_file"]
    if path is None:
        with transaction.atomic():
            found = import_vcenter(
                organisation, inventory, name=name, apply=options["apply"], now=now
            )
            if found.applied:
                note(organisation, Noted(action="import vcenter", subject=name))
        return found
    found, document = vcenter_as_policy_file(organisation, inventory, name=name, now=now)
    write_whole(path, policy_file_text(document, units={}))
    return found


def _name(options: dict[str, Any]) -> str:
    source: str = options["source"]
    given = options["name"] or (
        urlsplit(source).hostname if "://" in source else Path(source).stem
    )
    # It stands in a comment of the rules, on one line.
    return " ".join(str(given or "vcenter").split())
