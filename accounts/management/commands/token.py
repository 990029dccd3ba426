"""`sluice token`: the credentials of programs."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.management.product_command import ProductCommand, add_verb
from accounts.models import Organisation, Scope, Token
from accounts.services.tokens import create_token, revoke_token


class Command(ProductCommand):
    help = "List, create and revoke tokens"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="all tokens, without their secrets (the default)")
        create = add_verb(verbs, "create", help="create a token and print its secret, once")
        create.add_argument("name", help="what uses it, such as: telegraf h1")
        create.add_argument("--scope", choices=Scope.values, required=True)
        create.add_argument("--host", metavar="NAME", help="restrict it to this host")
        create.add_argument(
            "--user", metavar="NAME", help="member as whom it acts; for the scopes read and write"
        )
        create.add_argument(
            "--days", type=int, metavar="N", help="days until it expires; default: never"
        )
        revoke = add_verb(verbs, "revoke", help="invalidate a token immediately")
        revoke.add_argument("id", type=int, help="its id in: sluice token list")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        match options["verb"]:
            case "create":
                self._create(organisation, options)
            case "revoke":
                token = revoke_token(
                    organisation=organisation, pk=options["id"], now=timezone.now()
                )
                self._show([token], options)
            case _:
                tokens = Token.objects.filter(organisation=organisation).select_related(
                    "host", "user"
                )
                self._show(list(tokens), options)

    def _create(self, organisation: Organisation, options: dict[str, Any]) -> None:
        days = options["days"]
        token, secret = create_token(
            organisation=organisation,
            name=options["name"],
            scope=Scope(options["scope"]),
            host_name=options["host"],
            username=options["user"],
            expires_at=timezone.now() + timedelta(days=days) if days else None,
        )
        if options["as_json"]:
            self.show_json({**_row(token), "token": secret})
        else:
            self.stdout.write(secret)
            self.stderr.write("Save it now: only a hash is stored, so it cannot be shown again.")

    def _show(self, tokens: list[Token], options: dict[str, Any]) -> None:
        self.show(
            [_row(token) for token in tokens],
            as_json=options["as_json"],
            columns=["id", "name", "scope", "host", "user", "state", "last_used_at"],
            empty='no tokens yet; create one: sluice token create "telegraf h1" --scope ingest',
        )


def _row(token: Token) -> dict[str, Any]:
    return {
        "id": token.pk,
        "name": token.name,
        "scope": token.scope,
        "host": token.host.name if token.host else None,
        "user": token.user.get_username() if token.user else None,
        "state": _state(token),
        "made_by": token.made_by,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
    }


def _state(token: Token) -> str:
    if token.revoked_at:
        return "revoked"
    if token.expires_at and token.expires_at <= timezone.now():
        return "expired"
    return "valid"
