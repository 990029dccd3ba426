"""`sluice esxtop`: what a running esxtop writes, as line protocol for Telegraf's input `execd`."""

from __future__ import annotations

import os
import select
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError, OutputWrapper

from accounts.management.plain_command import PlainCommand
from ingest.core.decoders.errors import DecodeError, NeedsHostError
from ingest.core.decoders.esxtop import decode_esxtop
from ingest.core.decoders.rejections import Rejections
from ingest.core.point_line import point_line
from ingest.followed_file import follow
from ingest.sources.esxtop import is_kept

HEADER = b'"(PDH-CSV 4.0)'
LOOK_EVERY_MS = 1000
_CHUNK_BYTES = 1 << 18


class Command(PlainCommand):
    help = (
        "Print what a running `esxtop -b` writes as line protocol, for Telegraf's input execd."
        " Without FILE it reads standard input, such as `ssh esx01 esxtop -b -a -d 10`; of a FILE"
        " it prints what is written from now on, and follows it when it is rotated."
        " Complete files are for `sluice import`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="file to follow")
        parser.add_argument("--host", help="name of the ESXi host, where the file says localhost")

    def handle(self, *_: Any, **options: Any) -> None:
        rejections = Rejections()
        handing_on = _HandingOn(rejections, sys.stdout.buffer, self.stderr)
        try:
            self._print(options["file"], options["host"], rejections, handing_on)
        except NeedsHostError as error:
            raise CommandError(f"{error}; name it with --host") from error
        except DecodeError as error:
            raise CommandError(f"esxtop: {error}") from error
        except (IsADirectoryError, PermissionError) as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from error

    def _print(
        self, path: Path | None, host: str | None, rejections: Rejections, handing_on: _HandingOn
    ) -> None:
        chunks = follow(path, header=HEADER, wait=_has_reader) if path else _arriving()
        points = decode_esxtop(
            handing_on.after_each(chunks),
            rejections,
            wanted=is_kept,
            host=host,
            # ESXi has no other zone.
            zone=UTC,
            is_growing=True,
        )
        for point in points:
            sys.stdout.buffer.write(point_line(point).encode() + b"\n")
        handing_on.now()


class _HandingOn:
    """Hands on what is printed when a chunk is done, and says each reason of a refusal once."""

    def __init__(self, rejections: Rejections, out: BinaryIO, log: OutputWrapper) -> None:
        self._rejections = rejections
        self._out = out
        self._log = log
        self._told = 0

    def after_each(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks; when the next is asked for, all points of the one before were taken."""
        for chunk in chunks:
            yield chunk
            self.now()

    def now(self) -> None:
        self._out.flush()
        for refused in self._rejections.all()[self._told :]:
            # By the first letter Telegraf tells a warning from an error.
            self._log.write(f"W! esxtop: {refused.part}: {refused.reason}")
            self._told += 1


def _arriving() -> Iterator[bytes]:
    """Standard input as it comes."""
    descriptor = sys.stdin.fileno()
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        yield chunk


def _has_reader() -> bool:
    """Pause, or find at once that nobody reads standard output any more."""
    watch = select.poll()
    watch.register(sys.stdout.fileno(), 0)
    return not watch.poll(LOOK_EVERY_MS)
