"""`sluice udp`: receive line protocol in datagrams, which nobody acknowledges."""

from __future__ import annotations

import signal
from argparse import ArgumentParser
from threading import Event
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from accounts.authentication import AuthenticationError, ForbiddenError, authenticate
from accounts.management.plain_command import PlainCommand
from accounts.models import Scope
from ingest.retention import retention
from ingest.udp import PORT, Receiver, listen


class Command(PlainCommand):
    help = (
        "Receive line protocol over UDP, as Proxmox sends it by default. Datagrams are not"
        " acknowledged: what is lost on the way, nobody knows. The token in"
        " SLUICE_UDP_TOKEN says whose samples they are; anybody who reaches the port can send."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--address",
            default="0.0.0.0",  # noqa: S104  senders are other machines
            help="address to listen on (0.0.0.0, that is all)",
        )
        parser.add_argument("--port", type=int, default=PORT, help=f"port ({PORT})")

    def handle(self, *_: Any, **options: Any) -> None:
        secret = settings.UDP_TOKEN or ""
        try:
            token = authenticate(f"Token {secret}", scope=Scope.INGEST, now=timezone.now())
        except (AuthenticationError, ForbiddenError) as error:
            raise CommandError(f"SLUICE_UDP_TOKEN: {error}") from error
        stop = Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        try:
            listening = listen(options["address"], options["port"])
        except OSError as error:
            raise CommandError(f"cannot listen on port {options['port']}: {error}") from error
        with listening:
            self.stdout.write(
                f"receiving for {token.organisation.slug} on UDP port"
                f" {listening.getsockname()[1]}; nothing is acknowledged"
            )
            Receiver(listening, secret=secret, retention=retention()).run(stop.is_set)
