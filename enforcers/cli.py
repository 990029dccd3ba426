"""The command `sluice-enforcer`.

What one command alone needs is imported there: an agent that runs keeps in memory what it imports.
"""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TypeVar

from enforcers import config, signals
from enforcers.agent import Agent
from enforcers.assembly import assemble
from enforcers.client import Client
from enforcers.clocks import Clocks
from enforcers.errors import ConfigError, EnforcerError
from enforcers.exchanging import asking, asking_limits, exchanging
from enforcers.http_exchange import HttpExchange
from enforcers.joint_post import Post
from enforcers.log_format import start_logging
from enforcers.metrics.figures import Figures
from enforcers.metrics.in_force import InForce
from enforcers.options import Options
from enforcers.restoring import recover_at_start
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
    options = _options(sys.argv[1:] if argv is None else argv)
    start_logging(verbose=options.verbose)
    if options.command not in {"run", "read"}:
        signals.let_through()
    if options.check:
        from enforcers import doctor

        return doctor.show_host(as_json=options.json)
    if options.command is None:
        from enforcers.command_line import parser

        parser(DEFAULT_CONFIG).print_help(sys.stderr)
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


def _options(words: Sequence[str]) -> Options:
    """What the words ask for; the line by which an agent is started needs no parser in memory."""
    if len(words) == 3 and words[:2] == ["run", "--config"]:
        return Options(command="run", config=Path(words[2]))
    from enforcers.command_line import parsed

    return parsed(words, DEFAULT_CONFIG)


def _run_command(options: Options) -> int:
    if options.command == "version":
        print(VERSION)
        return 0
    if options.command == "read":
        return _read(options)
    if options.command == "doctor":
        return _doctor(options)
    if options.command == "measure":
        return _measure(options)
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


def _doctor(options: Options) -> int:
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


def _measure(options: Options) -> int:
    from enforcers.host_fs import HostFs
    from enforcers.mechanisms.cgroup_io import measuring
    from enforcers.runner import SubprocessRunner

    with signals.leaving_in_order():
        return measuring.show(
            options.device,
            folder=options.folder,
            seconds=options.seconds,
            as_json=options.json,
            # A slow disk takes long until the file is there.
            runner=SubprocessRunner(timeout_s=measuring.LONGEST_RUN_S),
            host_fs=HostFs(),
        )


def _read(options: Options) -> int:
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
            recover_at_start(parts)
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
        host, now = loaded.host, parts.clocks.now
        ends.enter_context(exchanging(post.loads, asking(client, host=host, now=now)))
        ends.enter_context(exchanging(post.limits, asking_limits(client, host=host, now=now)))
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
