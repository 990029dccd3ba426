"""`sluice checksums`: whether the private database's pages have checksums."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from accounts.management.product_command import PrintingCommand, add_json_option
from appliance.backup.errors import Refused
from appliance.embedded.checksums import add_checksums, has_checksums
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.postgres_cluster import find_cluster
from appliance.embedded.service_user import service_user
from appliance.management.backup_command import check_private


class Command(PrintingCommand):
    help = (
        "Say whether each page of the private database has a checksum, by which PostgreSQL "
        "notices damage on the disk. New ones have; an older one gets them while it is stopped"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)
        parser.add_argument(
            "--enable", action="store_true", help="add them; reads and writes the whole database"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            check_private()
            cluster = find_cluster(settings.DATA_DIR, service_user(settings.DATA_DIR.postgres))
            if not cluster.exists:
                raise CommandError(f"there is no database in {settings.DATA_DIR.root}")
            if options["enable"] and not has_checksums(cluster):
                add_checksums(cluster)
            is_on = has_checksums(cluster)
        except (EmbeddedError, Refused) as error:
            raise CommandError(str(error)) from error
        if options["as_json"]:
            self.show_json({"checksums": is_on})
        else:
            self.stdout.write(
                "every page has a checksum"
                if is_on
                else "pages have no checksums; stop the server and run: sluice checksums --enable"
            )
