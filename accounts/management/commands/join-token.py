"""`sluice join-token`: lines by which hosts connect themselves."""  # noqa: N999  its name

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from accounts.management.product_command import ProductCommand, add_verb
from accounts.models import Collects, JoinMode, JoinToken, Organisation, Runs
from accounts.services.join_tokens import (
    DEFAULT_MINUTES,
    Terms,
    described,
    join_tokens_of,
    make_join_token,
    revoke_join_token,
)


class Command(ProductCommand):
    help = "List, create and revoke lines by which hosts connect themselves"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="all of them, without their secrets (the default)")
        create = add_verb(verbs, "create", help="print a line to paste on a host, once")
        create.add_argument(
            "--url", required=True, help="address at which hosts reach this server, with https"
        )
        create.add_argument("--runs", choices=Runs.values, default=Runs.SERVICE)
        create.add_argument("--mode", choices=JoinMode.values, default=JoinMode.OBSERVE)
        create.add_argument("--collects", choices=Collects.values, default=Collects.READER)
        create.add_argument(
            "--host", metavar="NAME", default="", help="for this host alone, known already or not"
        )
        create.add_argument("--hosts", type=int, metavar="N", default=1, help="default: 1")
        create.add_argument(
            "--minutes", type=int, metavar="N", default=DEFAULT_MINUTES,
            help=f"minutes until it expires; default: {DEFAULT_MINUTES}",
        )  # fmt: skip
        revoke = add_verb(verbs, "revoke", help="let no host join by it any more")
        revoke.add_argument("id", type=int, help="its id in: sluice join-token list")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        match options["verb"]:
            case "create":
                self._create(organisation, options)
            case "revoke":
                token = revoke_join_token(
                    organisation=organisation, pk=options["id"], now=timezone.now()
                )
                self._show([token], options)
            case _:
                self._show(list(join_tokens_of(organisation)), options)

    def _create(self, organisation: Organisation, options: dict[str, Any]) -> None:
        token, secret = make_join_token(
            organisation=organisation,
            terms=Terms(
                runs=Runs(options["runs"]),
                mode=JoinMode(options["mode"]),
                collects=Collects(options["collects"]),
                host_name=options["host"],
                most_hosts=options["hosts"],
                minutes=options["minutes"],
            ),
            now=timezone.now(),
        )
        line = f"curl -fsSL {options['url'].rstrip('/')}/join/{secret} | sudo sh"
        if options["as_json"]:
            self.show_json({**described(token, now=timezone.now()), "line": line})
        else:
            self.stdout.write(line)
            self.stderr.write("Only a hash of it is stored, so it cannot be shown again.")

    def _show(self, tokens: list[JoinToken], options: dict[str, Any]) -> None:
        self.show(
            [described(token, now=timezone.now()) for token in tokens],
            as_json=options["as_json"],
            columns=["id", "state", "mode", "host", "most_hosts", "hosts_joined", "expires_at"],
            empty="none yet; make one: sluice join-token create --url https://SERVER",
        )
