"""The command `sluice-enforcer`."""

import argparse
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from enforcers import config, inspection
from enforcers.agent import Agent, Clocks
from enforcers.assembly import assemble
from enforcers.client import Client
from enforcers.errors import EnforcerError
from enforcers.log_format import log_to_stderr
from enforcers.reader import showing
from enforcers.reader.collecting import collecting
from enforcers.state_dir import StateDir
from enforcers.version import VERSION

DEFAULT_CONFIG = "/etc/sluice-enforcer/agent.toml"
EXIT_FAILURE = 1
EXIT_USAGE = 2

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 if it did what it should."""
    parser = _parser()
    options = parser.parse_args(argv)
    log_to_stderr(verbose=options.verbose)
    if options.check:
        return inspection.show_support(as_json=options.json)
    if options.command is None:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    try:
        status = _run_command(options)
        sys.stdout.flush()
    except EnforcerError as error:
        print(f"sluice-enforcer: {error}", file=sys.stderr)
        return EXIT_FAILURE
    except BrokenPipeError:
        # Who reads the output, such as `head`, has enough of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _run_command(options: argparse.Namespace) -> int:
    if options.command == "version":
        print(VERSION)
        return 0
    if options.command == "read":
        return _read(options)
    loaded = config.load(options.config)
    if options.command == "run":
        return run(loaded)
    if options.command == "plan":
        return inspection.show_plan(loaded, as_json=options.json)
    if options.command == "status":
        return inspection.show_status(StateDir(root=loaded.state_dir), as_json=options.json)
    return inspection.restore(loaded, as_json=options.json)


def _read(options: argparse.Namespace) -> int:
    if options.once:
        return showing.show_reading(
            options.host, root=options.root, as_json=options.json, ask_qemu=options.ask_qemu
        )
    loaded = config.load_reader(options.config)
    stopping = _stop_signals()
    with StateDir(root=loaded.buffer_dir.parent).exclusive(), collecting(loaded):
        log.info("reader started", extra={"host": loaded.host, "version": VERSION})
        stopping.wait()
    log.info("reader stopped")
    return 0


def _stop_signals() -> threading.Event:
    """Set at the first SIGTERM or SIGINT."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    return stopping


def run(loaded: config.AgentConfig) -> int:
    """Enforce until SIGTERM or SIGINT, and read samples if the configuration says so."""
    stopping = _stop_signals()
    state_dir = StateDir(root=loaded.state_dir)
    with state_dir.exclusive(), collecting(loaded.reader):
        parts = assemble(loaded, dry_run=loaded.dry_run)
        agent = Agent(
            config=loaded,
            service=Client(loaded.server),
            enforcement=parts.enforcement,
            store=parts.store,
            support=tuple(item.support() for item in parts.mechanisms.values()),
            clocks=Clocks(now=lambda: datetime.now(UTC), monotonic_s=time.monotonic),
            status_file=state_dir.status,
        )
        log.info("agent started", extra={"host": loaded.host, "version": VERSION})
        agent.run(stopping.wait)
    log.info("agent stopped", extra={"on_exit": loaded.on_exit})
    return 0


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="for programs"
    )
    shared.add_argument(
        "--verbose", action="store_true", default=argparse.SUPPRESS, help="log every detail"
    )
    parser = argparse.ArgumentParser(
        prog="sluice-enforcer",
        description="Enforces this host's I/O policy in the kernel and proves it.",
        parents=[shared],
    )
    parser.set_defaults(json=False, verbose=False)
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument(
        "--check", action="store_true", help="show what this host supports; changes nothing"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in (
        ("run", "enforce until SIGTERM or SIGINT"),
        ("read", "send this host's samples until SIGTERM or SIGINT, and enforce nothing"),
        ("plan", "show what would be changed, and change nothing"),
        ("restore", "put the kernel back as it was found and forget the policy held"),
        ("status", "show the last report"),
    ):
        command = commands.add_parser(name, help=text, description=text, parents=[shared])
        command.add_argument(
            "--config",
            type=Path,
            default=Path(DEFAULT_CONFIG),
            metavar="FILE",
            help=f"configuration file (default {DEFAULT_CONFIG})",
        )
        if name == "read":
            _add_read_options(command)
    commands.add_parser("version", help="show the version", parents=[shared])
    return parser


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
