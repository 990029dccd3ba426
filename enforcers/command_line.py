"""Reads the command line of `sluice-enforcer`."""

import argparse
import socket
from collections.abc import Sequence
from pathlib import Path

from enforcers.options import Options
from enforcers.version import VERSION

_MEASURE = "measure what a disk can do at a quiet time, and propose a model; changes nothing"
_SECONDS = range(1, 11)


def parsed(words: Sequence[str], default_config: str) -> Options:
    """What the words ask for; words of no use end the process with a message (SystemExit)."""
    reading = parser(default_config)
    options = reading.parse_args(words, namespace=Options())
    if options.command == "doctor":
        _check_fix(reading, options)
    return options


def parser(default_config: str) -> argparse.ArgumentParser:
    """Of all commands; those on a policy read `default_config` if no other is given."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="for programs"
    )
    shared.add_argument(
        "--verbose", action="store_true", default=argparse.SUPPRESS, help="log every detail"
    )
    whole = argparse.ArgumentParser(
        prog="sluice-enforcer",
        description="Enforces this host's I/O policy in the kernel and proves it.",
        parents=[shared],
    )
    whole.set_defaults(json=False, verbose=False)
    whole.add_argument("--version", action="version", version=VERSION)
    whole.add_argument("--check", action="store_true", help="as `doctor`, of the host alone")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in (
        ("run", "enforce until SIGTERM or SIGINT"),
        ("read", "send this host's samples until SIGTERM or SIGINT, and enforce nothing"),
        ("doctor", "show what can be enforced here, what not, and what to do"),
        ("plan", "show what would be changed, and change nothing"),
        ("restore", "put the kernel back as it was found and forget the policy held"),
        ("status", "show the last report"),
    ):
        command = commands.add_parser(name, help=text, description=text, parents=[shared])
        command.add_argument(
            "--config",
            type=Path,
            default=Path(default_config),
            metavar="FILE",
            help=f"configuration file (default {default_config})",
        )
        if name == "read":
            _add_read_options(command)
        if name == "doctor":
            _add_fix_options(command)
        if name == "restore":
            command.add_argument(
                "--force",
                action="store_true",
                help="put to the kernel's default also what no ledger tells, and may be others'",
            )
            command.add_argument(
                "--if-over",
                action="store_true",
                help="only if no agent runs and the lease of its policy is over",
            )
    _add_measure(
        commands.add_parser("measure", help=_MEASURE, description=_MEASURE, parents=[shared])
    )
    commands.add_parser("version", help="show the version", parents=[shared])
    return whole


def _add_measure(command: argparse.ArgumentParser) -> None:
    command.add_argument("device", help="name of the disk, such as sda")
    command.add_argument(
        "--folder",
        type=Path,
        help="folder on this disk for a file of 256 MB, to measure writes too; "
        "without it the disk is only read",
    )
    command.add_argument(
        "--seconds",
        type=int,
        default=5,
        choices=_SECONDS,
        metavar="N",
        help="length of each of the runs, 1 to 10 (default 5)",
    )


def _add_fix_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--fix",
        action="store_true",
        help="show the files that would make more enforceable, ask, and write them; no reboot",
    )
    command.add_argument(
        "--yes", action="store_true", help="with --fix: write without asking, for scripts"
    )


def _add_read_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--once",
        action="store_true",
        help="print what one pass reads; needs no configuration and sends nothing",
    )
    command.add_argument(
        "--host",
        default=socket.gethostname(),
        help="with --once: name of this host (default: the kernel's)",
    )
    command.add_argument(
        "--root", default="/", metavar="FOLDER", help="with --once: the tree to read (default /)"
    )
    command.add_argument(
        "--ask-qemu",
        action="store_true",
        help="with --once: ask QEMU guests over their QMP sockets what they count of their disks",
    )


def _check_fix(reading: argparse.ArgumentParser, options: Options) -> None:
    if options.yes and not options.fix:
        reading.error("--yes needs --fix")
    if options.fix and options.json:
        reading.error("--fix asks a person, so it prints no JSON")
