"""`sluice enroll`: everything an agent needs, in one folder."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from advisor.management.product_command import ProductCommand
from advisor.services.enrolment import enroll
from ingest.models import Organisation


class Command(ProductCommand):
    help = "Write the configuration, token and signing key for the agent of a host"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("host")
        parser.add_argument("--out", type=Path, required=True, help="folder to write, made if new")
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="where agents reach us")
        parser.add_argument("--interfaces", default="", help="uplinks it may shape, with commas")
        parser.add_argument("--cgroup-subtrees", default="", help="subtrees it may write")
        parser.add_argument("--poll", type=float, default=10.0, dest="poll_s", metavar="SECONDS")
        parser.add_argument("--lease", type=int, default=900, dest="lease_s", metavar="SECONDS")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        out: Path = options["out"]
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(f"cannot make {out}: {error.strerror}") from error
        enrolment = enroll(
            organisation=organisation, host_name=options["host"], lease_s=options["lease_s"]
        )
        _write_secret(out / "token", enrolment.token)
        _write_secret(out / "signing-key", enrolment.signing_key)
        (out / "agent.toml").write_text(_configuration(enrolment, options))
        files = {"configuration": str(out / "agent.toml"), "host": options["host"]}
        if options["as_json"]:
            self.show_json(files)
        else:
            self.stdout.write(
                f"Wrote {out}/agent.toml, token and signing-key. Copy the folder to "
                f"{options['host']} and start: sluice-enforcer run --config agent.toml"
            )


def _write_secret(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
