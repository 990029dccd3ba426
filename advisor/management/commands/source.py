"""`sluice source`: the vCenters and Kubernetes clusters that are read by themselves."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.management.product_command import add_verb
from accounts.models import Organisation
from advisor.decisions.sources import reading
from advisor.decisions.sources import stating as sources
from advisor.decisions.sources.problems import StatedSource
from advisor.management.given_secret import given_password, given_token
from advisor.management.product_command import ProductCommand
from advisor.models import ReadSource
from advisor.models.source import (
    LEAST_EVERY_MIN,
    MOST_EVERY_MIN,
    USUAL_EVERY_MIN,
    USUAL_TIER_LABEL,
    SourceKind,
)

COLUMNS = ["name", "kind", "address", "user", "every_min", "takes_over", "read_at", "next", "says"]


class Command(ProductCommand):
    help = "State which vCenters and Kubernetes clusters are read, and see how each fares"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="what the last read of each gave (the default)")
        add = add_verb(verbs, "add", help="set a vCenter, in the place of one of the same name")
        add.add_argument("name")
        add.add_argument("address", help="such as https://vcenter.example.com")
        add.add_argument("--user", required=True, help="account with the role Read-only")
        add.add_argument(
            "--password-file", type=Path, metavar="FILE",
            help="file with the password; otherwise SLUICE_VCENTER_PASSWORD, or it is asked for",
        )  # fmt: skip
        add.add_argument("--keep-password", action="store_true", help="of the source of this name")
        _add_common(add)
        cluster = add_verb(verbs, "add-kubernetes", help="set a Kubernetes cluster likewise")
        cluster.add_argument("name")
        cluster.add_argument("address", help="of its API, such as https://10.0.0.5:6443")
        cluster.add_argument(
            "--token-file", type=Path, metavar="FILE",
            help="file with the token; otherwise SLUICE_KUBERNETES_TOKEN, or it is asked for",
        )  # fmt: skip
        cluster.add_argument("--keep-token", action="store_true", help="of this source")
        cluster.add_argument(
            "--own-account", action="store_true",
            help="no token: the server's own cluster, by the account of its pods",
        )  # fmt: skip
        cluster.add_argument(
            "--tier-label", default=USUAL_TIER_LABEL, metavar="LABEL",
            help=f"of pods, that gives a workload its tier; empty: none ({USUAL_TIER_LABEL})",
        )  # fmt: skip
        cluster.add_argument(
            "--class-rates", default="", metavar="MEANINGS",
            help='what parameters of its VolumeAttributesClasses mean, as "iops=IOPS"; an '
            "admin's approval of a limit then gives claims their class (none)",
        )  # fmt: skip
        _add_common(cluster)
        add_verb(verbs, "test", help="connect and log in now").add_argument("name")
        add_verb(verbs, "pause", help="read it no more").add_argument("name")
        add_verb(verbs, "resume", help="read it again").add_argument("name")
        add_verb(verbs, "remove", help="what it stated stays").add_argument("name")
        add_verb(verbs, "put-back", help="undo a removal of the last day").add_argument("name")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        verb, now = options["verb"] or "list", timezone.now()
        changes = {
            "pause": sources.pause_source,
            "resume": sources.resume_source,
            "remove": sources.remove_source,
        }
        if verb == "add":
            password = "" if options["keep_password"] else _password(options)
            _add(organisation, options, now, user=options["user"], password=password)
        elif verb == "add-kubernetes":
            without = options["keep_token"] or options["own_account"]
            token = "" if without else given_token(options["token_file"])
            _add(
                organisation, options, now, kind=SourceKind.KUBERNETES, password=token,
                tier_label=options["tier_label"], class_rates=options["class_rates"],
            )  # fmt: skip
        elif verb == "test":
            self._test(_named(organisation, options["name"]), now)
        elif verb == "put-back":
            _put_back(organisation, options["name"], now)
        elif verb in changes:
            row = _named(organisation, options["name"])
            changes[verb](row, actor=COMMAND_LINE, now=now)
        rows = [_row(row) for row in sources.sources_of(organisation)]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=COLUMNS,
            empty="no sources: sluice source add NAME https://vcenter.example.com --user USER",
        )

    def _test(self, row: ReadSource, now: datetime) -> None:
        """By this process, so that no worker is waited for; CommandError if it does not work."""
        sources.ask_trial(row, actor=COMMAND_LINE, now=now)
        # Its password may be one that no key opens, so the row is read anew, not refreshed.
        row = ReadSource.objects.get(pk=row.pk)
        began_s = time.monotonic()
        reading.try_now(row, now=now)
        row = ReadSource.objects.get(pk=row.pk)
        took_s = time.monotonic() - began_s
        if not row.trial_worked:
            raise CommandError(row.trial_says or "somebody else is testing it")
        self.stderr.write(f"{row}: {row.trial_says}, after {took_s:.1f} s")


def _add_common(parser: ArgumentParser) -> None:
    """The options that sources of all kinds have."""
    parser.add_argument("--fingerprint", default="", help="SHA-256 of its certificate, to pin it")
    parser.add_argument(
        "--ca-file", type=Path, metavar="FILE",
        help="certificate of the authority that signed its own, in PEM",
    )  # fmt: skip
    parser.add_argument(
        "--every", type=int, default=USUAL_EVERY_MIN, metavar="MINUTES",
        help=f"{LEAST_EVERY_MIN} to {MOST_EVERY_MIN} ({USUAL_EVERY_MIN})",
    )  # fmt: skip
    parser.add_argument(
        "--take-over", action="store_true", help="state here what differs; else it is told"
    )


def _password(options: dict[str, Any]) -> str:
    return given_password(options["user"], options["password_file"])


def _add(
    organisation: Organisation, options: dict[str, Any], now: datetime, **of_kind: Any
) -> None:
    authority = ""
    if options["ca_file"] is not None:
        try:
            authority = options["ca_file"].read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{options['ca_file']} cannot be read: {error}") from error
    sources.state_source(
        organisation=organisation,
        stated=StatedSource(
            name=options["name"],
            address=options["address"],
            fingerprint=options["fingerprint"],
            authority=authority,
            every_min=options["every"],
            takes_over=options["take_over"],
            **of_kind,
        ),
        actor=COMMAND_LINE,
        now=now,
    )


def _put_back(organisation: Organisation, name: str, now: datetime) -> None:
    row = sources.removed_sources(organisation, now=now).filter(name=name).first()
    if row is None:
        raise CommandError(f'no source "{name}" was removed in the last day')
    sources.put_back(row, actor=COMMAND_LINE, now=now)


def _named(organisation: Organisation, name: str) -> ReadSource:
    row = sources.sources_of(organisation).filter(name=name).first()
    if row is None:
        raise CommandError(f'there is no source "{name}"; sluice source lists them')
    return row


def _row(row: ReadSource) -> dict[str, Any]:
    return {
        "name": row.name,
        "kind": row.kind,
        "address": row.address,
        "user": row.user or None,
        "fingerprint": row.fingerprint or None,
        "has_authority": bool(row.authority),
        "every_min": row.every_min,
        "takes_over": row.takes_over,
        "tier_label": row.tier_label or None,
        "class_rates": row.class_rates or None,
        "paused_at": row.paused_at,
        "read_at": row.read_at,
        "next_at": None if row.paused_at else row.next_at,
        "next": "paused" if row.paused_at else f"{row.next_at:%Y-%m-%d %H:%M}",
        "failures": row.failures,
        "says": row.says or None,
        "test_worked": row.trial_worked,
        "test_says": row.trial_says or None,
    }
