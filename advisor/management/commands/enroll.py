"""`sluice enroll`: write one folder with everything that an agent needs."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.management.product_command import Noted
from accounts.models import Organisation
from advisor.decisions.agent_configuration import (
    READER_TABLE,
    SERVER_FILES,
    configuration_text,
)
from advisor.decisions.enrolment import (
    DEFAULT_LEASE_S,
    NO_OVERLAP,
    Enrolment,
    enroll,
    issue_reader_token,
    rotate,
)
from advisor.management.product_command import ProductCommand
from advisor.models import AdapterKind, Attachment
from advisor.resource_kinds import registry
from ingest.models import Host

_LEADS_OVER = (
    "Copy them over those beside its agent.toml, and reload the agent: "
    "systemctl reload sluice-enforcer. "
    "An agent.toml that names signing_key_file has instead of that line: "
    + ", ".join(f'{key} = "{name}"' for key, name in SERVER_FILES.items() if key != "token_file")
)


class Command(ProductCommand):
    help = "Write the configuration, token and keys for the agent of a host"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("host")
        parser.add_argument(
            "--out", type=Path, required=True, help="folder to write; created if missing"
        )
        parser.add_argument(
            "--url",
            default="http://127.0.0.1:8000",
            help="address at which agents reach this server",
        )
        parser.add_argument(
            "--interfaces",
            type=_words,
            help="interfaces that it may shape, separated by commas; default: the host's uplinks",
        )
        parser.add_argument(
            "--cgroup-subtrees",
            type=_words,
            default=[],
            help="cgroups below which it may set limits, separated by commas",
        )
        parser.add_argument(
            "--allow", type=_allowed, action="append", default=[], metavar="MECHANISM.KEY=NAMES",
            help="what another mechanism may change, separated by commas; repeat for each",
        )  # fmt: skip
        parser.add_argument(
            "--reader",
            action="store_true",
            help="let the agent send this host's samples too; leave out where Telegraf sends",
        )
        parser.add_argument("--state-dir", help="where the agent stores its ledger and policy")
        parser.add_argument("--poll", type=float, default=10.0, dest="poll_s", metavar="SECONDS")
        parser.add_argument(
            "--report", type=float, default=30.0, dest="report_s", metavar="SECONDS"
        )
        parser.add_argument(
            "--lease", type=int, dest="lease_s", metavar="SECONDS",
            help=f"how long a policy holds without the server; default: {DEFAULT_LEASE_S}",
        )  # fmt: skip
        parser.add_argument(
            "--rotate",
            action="store_true",
            help="new token and keys for a host that has an agent; those that it has end later",
        )
        parser.add_argument(
            "--overlap", type=float, default=24.0, dest="overlap_h", metavar="HOURS",
            help="with --rotate: how long both work, at most 720; default: 24",
        )  # fmt: skip

    def noted(self, options: Mapping[str, Any]) -> Noted:
        action = "rotate agent keys" if options["rotate"] else "enroll agent"
        return Noted(action=action, subject=options["host"])

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        out: Path = options["out"]
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(f"cannot create {out}: {error.strerror}") from error
        overlap = timedelta(hours=options["overlap_h"]) if options["rotate"] else NO_OVERLAP
        enrolment = _enrolled(organisation, options, overlap)
        for name, text in enrolment.files().items():
            _write_secret(out / name, text)
        if options["reader"]:
            token = issue_reader_token(host=enrolment.host, overlap=overlap)
            _write_secret(out / "ingest-token", token)
        names = ", ".join(enrolment.files())
        if options["rotate"]:
            # What somebody changed in the host's configuration is not written over.
            answer = {
                "folder": str(out),
                "host": options["host"],
                "overlap_h": options["overlap_h"],
            }
            words = f"Wrote {names} to {out}. {_ending(timezone.now(), overlap)}{_LEADS_OVER}"
        else:
            (out / "agent.toml").write_text(_configuration(enrolment.host, options))
            answer = {"configuration": str(out / "agent.toml"), "host": options["host"]}
            words = (
                f"Wrote {out}/agent.toml, {names}. Copy it to {options['host']} and start: "
                "sluice-enforcer run --config agent.toml"
            )
        if options["as_json"]:
            self.show_json(answer)
        else:
            self.stdout.write(words)


def _enrolled(
    organisation: Organisation, options: dict[str, Any], overlap: timedelta
) -> Enrolment:
    name, lease_s = options["host"], options["lease_s"]
    if not options["rotate"]:
        return enroll(
            organisation=organisation, host_name=name, lease_s=lease_s or DEFAULT_LEASE_S
        )
    if lease_s is not None:
        raise CommandError("--rotate changes keys alone; leave out --lease")
    return rotate(organisation=organisation, host_name=name, overlap=overlap)


def _ending(now: datetime, overlap: timedelta) -> str:
    """What is said of the keys that the host has."""
    if not overlap:
        return "The token and keys that the host had do not work any more. "
    return f"The token and keys that the host has work until {now + overlap:%Y-%m-%d %H:%M} UTC. "


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _allowed(text: str) -> tuple[str, str, list[str]]:
    place, _, names = text.partition("=")
    mechanism, _, key = place.partition(".")
    if not (mechanism.isidentifier() and key.isidentifier()):
        raise ArgumentTypeError(
            f"{text!r} is not MECHANISM.KEY=NAMES, such as cgroup_io.devices=sda"
        )
    return mechanism, key, _words(names)


def _write_secret(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def _configuration(host: Host, options: dict[str, Any]) -> str:
    agent = {
        "host": host.name,
        "poll_s": options["poll_s"],
        "report_s": max(options["report_s"], options["poll_s"]),
    }
    if options["state_dir"]:
        agent["state_dir"] = options["state_dir"]
    interfaces = options["interfaces"]
    if interfaces is None:
        interfaces = _devices(host, AdapterKind.VNIC)
    tables: dict[str, dict[str, Any]] = {
        "agent": agent,
        "server": {"url": options["url"], **SERVER_FILES},
        "tc_htb": {"interfaces": interfaces},
        "cgroup_io": {
            "subtrees": options["cgroup_subtrees"],
            "devices": _devices(host, AdapterKind.CGROUP),
        },
    }
    if options["reader"]:
        tables["reader"] = dict(READER_TABLE)
    for mechanism, key, names in options["allow"]:
        tables.setdefault(mechanism, {})[key] = names
    return configuration_text(tables)


def _devices(host: Host, adapter: AdapterKind) -> list[str]:
    """The devices of resources whose workloads are distinguished by such an adapter."""
    kinds = [traits.name for traits in registry.KINDS if traits.adapter == adapter]
    attachments = Attachment.objects.filter(host=host, resource__kind__in=kinds)
    return sorted(attachments.values_list("device", flat=True))
