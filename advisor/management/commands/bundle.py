"""`sluice bundle`: an incident as a file that says nothing of its owner."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models import Organisation
from advisor.core.casebook.bundle import write_bundle
from advisor.core.casebook.pseudonyms import Pseudonyms
from advisor.decisions.casebook.capture import BEFORE, capture
from advisor.management.product_command import ProductCommand
from advisor.models import Incident

LEAST_KEY_BYTES = 16


class Command(ProductCommand):
    help = (
        "Write what the analysis of an incident read to a file: counters, limits and shares, "
        "under pseudonyms and at other dates. sluice trust reads it on any machine"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("incident", type=int, help="its number; see: sluice incidents")
        parser.add_argument("--output", type=Path, help="file; default: incident-NUMBER.bundle")
        parser.add_argument(
            "--hours",
            type=float,
            default=BEFORE / timedelta(hours=1),
            help="history before the incident; default: %(default)g",
        )
        parser.add_argument(
            "--key",
            type=Path,
            metavar="FILE",
            help="a secret of 16 bytes or more, so that the same names get the same pseudonyms in "
            "another bundle; without it, names differ in each bundle",
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        incident = (
            Incident.every.filter(organisation=organisation, pk=options["incident"])
            .select_related("resource")
            .first()
        )
        if incident is None:
            raise CommandError(
                f"there is no incident {options['incident']}; see: sluice incidents"
            )
        names = Pseudonyms(key=_key(options["key"]))
        before = timedelta(hours=options["hours"])
        data = write_bundle(capture(incident, names=names, now=timezone.now(), before=before))
        output = options["output"] or Path(f"incident-{incident.pk}.bundle")
        try:
            output.write_bytes(data)
        except OSError as error:
            raise CommandError(f"{output} cannot be written: {error.strerror}") from error
        if options["as_json"]:
            self.show_json({"file": str(output), "bytes": len(data)})
        else:
            self.stdout.write(
                f"{output}: {len(data):,} bytes; read it with: sluice trust {output}"
            )


def _key(file: Path | None) -> bytes:
    if file is None:
        return secrets.token_bytes(LEAST_KEY_BYTES)
    try:
        key = file.read_bytes()
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from error
    if len(key) < LEAST_KEY_BYTES:
        raise CommandError(f"{file} has {len(key)} bytes; a key has {LEAST_KEY_BYTES} or more")
    return key
