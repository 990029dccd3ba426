"""The command `sluice-enforcer`.

What one command alone needs is imported there: an agent that runs keeps in memory what it imports.
"""

import argparse
import logging
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TypeVar

from enforcers import config, signals
from enforcers.agent import Agent
from enforcers.assembly import Parts, assemble
from enforcers.client import Client
from enforcers.clocks import Clocks
from enforcers.errors import ConfigError, EnforcerError, StateError
from enforcers.exchanging import asking, exchanging
from enforcers.http_exchange import HttpExchange
from enforcers.joint_post import Post
from enforcers.log_format import start_logging
from enforcers.metrics.figures import Figures
from enforcers.metrics.in_force import InForce
from enforcers.recovery import recover, why_doubtful
from enforcers.service_manager import ServiceManager
from enforcers.signals import Call, Calls
from enforcers.state_dir import StateDir
from enforcers.version import VERSION

DEFAULT_CONFIG = "/etc/sluice-enforcer/agent.toml"
EXIT_FAILURE = 1
EXIT_USAGE = 2
LONGEST_WAIT_S = 3600.0

LoadedT = TypeVar("LoadedT", config.AgentConfig, config.ReaderConfig)

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 if it did what it should."""
    options = _parsed(argv)
    start_logging(verbose=options.verbose)
    if options.command not in {"run", "read"}:
        signals.let_through()
    if options.check:
        from enforcers import doctor

        return doctor.show_host(as_json=options.json)
    if options.command is None:
        _parser().print_help(sys.stderr)
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


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(argv)
    if options.command == "doctor":
        _check_fix(parser, options)
    return options


def _run_command(options: argparse.Namespace) -> int:
    if options.command == "version":
        print(VERSION)
        return 0
    if options.command == "read":
        return _read(options)
    if options.command == "doctor":
        return _doctor(options)
    if options.command == "restore" and options.if_over:
        from enforcers import dead_man

        return dead_man.restore_if_over(options.config)
    loaded = config.load(options.config)
    if options.command == "run":
        return run(loaded, file=options.config)
    from enforcers import inspection

    if options.command == "plan":
        return inspection.show_plan(loaded, as_json=options.json)
    if options.command == "status":
        return inspection.show_status(StateDir(root=loaded.state_dir), as_json=options.json)
    return inspection.restore(loaded, as_json=options.json, by_force=options.force)


def _check_fix(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.yes and not options.fix:
        parser.error("--yes needs --fix")
    if options.fix and options.json:
        parser.error("--fix asks a person, so it prints no JSON")


def _doctor(options: argparse.Namespace) -> int:
    """Before the host is enrolled there is no configuration yet."""
    from enforcers import doctor

    is_enrolled = options.config != Path(DEFAULT_CONFIG) or options.config.exists()
    if not is_enrolled:
        log.info("not enrolled yet, so only the host", extra={"file": DEFAULT_CONFIG})
    loaded = config.load(options.config) if is_enrolled else None
    if options.fix:
        return doctor.fix_host(by_itself=options.yes, config=loaded)
    if loaded is None:
        return doctor.show_host(as_json=options.json)
    return doctor.show_diagnosis(loaded, as_json=options.json)


def _read(options: argparse.Namespace) -> int:
    if options.once:
        from enforcers.reader import showing

        signals.let_through()
        return showing.show_reading(
            options.host, root=options.root, as_json=options.json, ask_qemu=options.ask_qemu
        )
    loaded = config.load_reader(options.config)
    with signals.listening() as calls, StateDir(root=loaded.buffer_dir.parent).exclusive():
        call: Call | None = Call.RELOAD
        while call is Call.RELOAD:
            with _collecting(loaded):
                log.info("reader started", extra={"host": loaded.host, "version": VERSION})
                while (call := calls.wait(LONGEST_WAIT_S)) is None:
                    pass
            if call is Call.RELOAD:
                loaded = _read_again(options.config, config.load_reader, loaded)
    log.info("reader stopped")
    return 0


def run(loaded: config.AgentConfig, *, file: Path) -> int:
    """Enforce until SIGTERM, SIGINT or SIGQUIT; read the configuration again at SIGHUP.

    SIGUSR1 ends it with all left in force, so that a new version takes over without a gap.
    """
    manager = ServiceManager()
    in_force = InForce(StateDir(root=loaded.state_dir).in_force)
    with signals.listening() as calls, StateDir(root=loaded.state_dir).exclusive():
        while (call := _enforce(loaded, calls, manager, in_force)) is Call.RELOAD:
            loaded = _read_again(file, config.load, loaded)
    left = config.OnExit.KEEP if call is Call.HAND_OVER else loaded.on_exit
    log.info("agent stopped", extra={"on_exit": left})
    return 0


def _enforce(
    loaded: config.AgentConfig, calls: Calls, manager: ServiceManager, in_force: InForce
) -> Call:
    """Enforce with one configuration until a call; read samples and show metrics if it says so."""
    with ExitStack() as ends, _collecting(loaded.reader):
        # In a dry run, too, what was in force before goes back when its lease is over.
        post = Post()
        parts = assemble(loaded, dry_run=False, post=post)
        ends.callback(parts.locks.close)
        if not loaded.dry_run:
            _recover(parts)
        in_force.begin(
            parts.clocks.boot_id,
            was_in_force=parts.store.was_in_force,
            is_watched=loaded.metrics is not None,
        )
        figures = Figures(in_force=in_force)
        client = Client(loaded.server)
        agent = Agent(
            config=loaded,
            service=client,
            enforcement=parts.enforcement,
            store=parts.store,
            support=lambda: tuple(item.support() for item in parts.mechanisms.values()),
            clocks=parts.clocks,
            status_file=StateDir(root=loaded.state_dir).status,
            figures=None if loaded.metrics is None else figures,
        )
        ends.enter_context(_serving(loaded, figures, parts.clocks))
        ask = asking(client, host=loaded.host, now=parts.clocks.now)
        ends.enter_context(exchanging(post, ask))
        log.info("agent started", extra={"host": loaded.host, "version": VERSION})
        manager.tell("READY=1", f"STATUS=enforces for {loaded.host}")
        return agent.run(lambda seconds: manager.wait(calls, seconds))


def _collecting(reader: config.ReaderConfig | None) -> AbstractContextManager[None]:
    if reader is None:
        return nullcontext()
    from enforcers.reader.collecting import collecting

    return collecting(reader)


def _serving(
    loaded: config.AgentConfig, figures: Figures, clocks: Clocks
) -> AbstractContextManager[None]:
    if loaded.metrics is None:
        return nullcontext()
    from enforcers.metrics.endpoint import serving
    from enforcers.metrics.exposition import render
    from enforcers.metrics.families import families

    def text() -> bytes:
        return render(families(figures, loaded.host, clocks.moment()))

    return serving(loaded.metrics, text)


def _read_again(file: Path, load: Callable[[Path], LoadedT], former: LoadedT) -> LoadedT:
    """The configuration as it is in the file, or the former one if that is of no use."""
    try:
        loaded = load(file)
        _check_state_dir(file, loaded, former)
        # Made for its check: a bad certificate authority must not end an agent that runs.
        HttpExchange(_endpoint(loaded))
    except ConfigError as error:
        log.warning("configuration not taken", extra={"error": str(error)})
        return former
    log.info("configuration read again", extra={"file": str(file)})
    return loaded


def _check_state_dir(file: Path, loaded: LoadedT, former: LoadedT) -> None:
    if _state_dir(loaded) != _state_dir(former):
        rule = "cannot change while the agent runs; start it again"
        raise ConfigError(str(file), "agent.state_dir", str(_state_dir(loaded)), rule)


def _endpoint(loaded: config.AgentConfig | config.ReaderConfig) -> config.Endpoint:
    return loaded.server if isinstance(loaded, config.AgentConfig) else loaded.endpoint


def _state_dir(loaded: config.AgentConfig | config.ReaderConfig) -> Path:
    if isinstance(loaded, config.AgentConfig):
        return loaded.state_dir
    return loaded.buffer_dir.parent


def _recover(parts: Parts) -> None:
    """Find what was left; with a full disk, too, the agent must run and restore."""
    try:
        found = recover(
            parts.mechanisms, parts.ledger, parts.locks, was_in_force=parts.store.was_in_force
        )
    except StateError as error:
        log.warning("ledger not mended", extra={"error": str(error)})
    else:
        if found.doubtful:
            why = why_doubtful(parts.ledger, found.doubtful)
            log.error("the ledger was lost", extra={"why": why})


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
    parser.add_argument("--check", action="store_true", help="as `doctor`, of the host alone")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
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
            default=Path(DEFAULT_CONFIG),
            metavar="FILE",
            help=f"configuration file (default {DEFAULT_CONFIG})",
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
    commands.add_parser("version", help="show the version", parents=[shared])
    return parser


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
