"""`sluice member`: the people of an organisation."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.urls import reverse
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.management.product_command import ProductCommand, add_verb
from accounts.models import Membership, Organisation
from accounts.roles import Role
from accounts.services.invitations import DAYS, invite
from accounts.services.members import change_role, remove_member


class Command(ProductCommand):
    help = "List, invite and remove members, and change their roles"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="all members (the default)")
        invite_ = add_verb(verbs, "invite", help="print a link that makes one person a member")
        invite_.add_argument("role", choices=Role.values)
        invite_.add_argument("--days", type=int, default=DAYS, help=f"it works for; {DAYS}")
        invite_.add_argument("--mail", default="", help="whom it is for; no mail is sent")
        invite_.add_argument(
            "--server", metavar="URL", default="", help="address of the server, to begin the link"
        )
        role = add_verb(verbs, "role", help="give a member another role")
        role.add_argument("user", help="username")
        role.add_argument("role", choices=Role.values)
        remove = add_verb(verbs, "remove", help="take a member out; the person's login stays")
        remove.add_argument("user", help="username")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        place: dict[str, Any] = {
            "organisation": organisation,
            "by": COMMAND_LINE,
            "now": timezone.now(),
        }
        match options["verb"]:
            case "invite":
                self._invite(options, place)
            case "role":
                changed = change_role(
                    username=options["user"], role=Role(options["role"]), **place
                )
                self._show([changed], options)
            case "remove":
                removed = remove_member(username=options["user"], **place)
                self._show([removed], options)
            case _:
                members = Membership.objects.filter(organisation=organisation)
                self._show(members.select_related("user"), options)

    def _invite(self, options: dict[str, Any], place: dict[str, Any]) -> None:
        invitation, secret = invite(
            role=Role(options["role"]), mail=options["mail"], days=options["days"], **place
        )
        link = options["server"].rstrip("/") + reverse("invitation", args=[secret])
        if options["as_json"]:
            self.show_json(
                {
                    "id": invitation.pk,
                    "role": invitation.role,
                    "mail": invitation.mail,
                    "link": link,
                    "expires_at": invitation.expires_at,
                }
            )
        else:
            self.stdout.write(link)

    def _show(self, members: Iterable[Membership], options: dict[str, Any]) -> None:
        self.show(
            [
                {
                    "user": member.user.get_username(),
                    "role": member.role,
                    "mail": member.user.email,
                    "last_login": member.user.last_login,
                }
                for member in members
            ],
            as_json=options["as_json"],
            columns=["user", "role", "mail", "last_login"],
            empty="no members",
        )
