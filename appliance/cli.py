"""The command `sluice`: a thin layer over the management commands."""

import os
import sys
from collections.abc import Sequence

from advisor.management.status_exit import StatusExit

COMMANDS = {
    "See": {
        "status": "what is congested, stalled or not known now; its exit status says which",
        "incidents": "congestion incidents, newest first, or who caused one",
        "hosts": "hosts, their newest sample and the state of their agent",
        "compliance": "what was asked, applied, read back and measured",
        "rejects": "lines that were sent and not stored, and why",
        "replay": "published experiments in the simulator, their numbers beside ours",
    },
    "Decide": {
        "recommendations": "recommendations, or one with everything it rests on",
        "approve": "approve a recommendation",
        "reject": "reject a recommendation and say why",
        "what-if": "try other shares, reservations and limits against stored history",
        "policy": "policy versions, newest first",
        "rollback": "put an earlier policy version back into force",
    },
    "Describe": {
        "resource": "list, add and change datastores and uplinks",
        "allocation": "list and state what workloads were promised",
        "maintenance": "list and state planned work, which mutes what it explains",
        "enroll": "write the files for the agent of a host",
        "token": "make, list and revoke tokens",
        "organisation": "list organisations, or make one with its admin",
    },
    "Operate": {
        "run": "start everything below one data directory",
        "demo": "play the main job once and judge it",
        "detect": "detect congestion once, as the scheduler does",
        "advise": "advise on thresholds, queue depths, placement and limits once",
        "recommend": "recommend once, as the scheduler does",
        "migrate": "bring the database's tables up to date",
        "changepassword": "set a new password for a person",
        "completion": "print the completion script for bash, zsh or fish",
    },
}
RENAMED = {"claim": "allocation", "episodes": "incidents", "job": "maintenance"}
"""Former names of commands; they work for one release."""
REFUSED = {"status": StatusExit.NO_ANSWER}
"""The exit status of a command that could not do its work; 1 for all others."""
HELP_WORDS = ("--help", "-h", "help")
SQLSTATE_UNDEFINED_TABLE = "42P01"


def main() -> None:
    """Run one command and end the process with its exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    arguments = sys.argv[1:]
    if not arguments or (arguments[0] in HELP_WORDS and len(arguments) == 1):
        print(overview())
        return
    if arguments[0] in HELP_WORDS:
        arguments = [arguments[1], "--help"]
    sys.exit(run_command(_by_new_name(arguments)))


def _by_new_name(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments with the command's name of today; a former name is told on standard error."""
    former, *rest = arguments
    if former not in RENAMED:
        return arguments
    print(f"sluice: {former} is now called {RENAMED[former]}", file=sys.stderr)
    return [RENAMED[former], *rest]


def overview() -> str:
    """What `sluice --help` prints."""
    width = max(len(name) for group in COMMANDS.values() for name in group)
    lines = [
        "usage: sluice COMMAND [options]",
        "",
        "Finds contention for shared storage and network I/O, recommends a policy, and proves it.",
    ]
    for title, commands in COMMANDS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {name:<{width}}  {line}" for name, line in commands.items()]
    lines += ["", "sluice COMMAND --help says more."]
    return "\n".join(lines)


def run_command(arguments: Sequence[str]) -> int:
    """The exit status of one command; what goes wrong is told in one line on standard error."""
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import CommandError
    from django.db import OperationalError, ProgrammingError

    from config.env import SettingError

    refused = REFUSED.get(arguments[0], 1)
    try:
        _execute(arguments)
    except CommandError as error:
        # argparse says 2 for words that it does not know.
        return _refuse(str(error), refused if error.returncode == 1 else error.returncode)
    except OperationalError as error:
        return _refuse(_without_database(error), refused)
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != SQLSTATE_UNDEFINED_TABLE:
            raise
        return _refuse("the database has no tables yet; make them with: sluice migrate", refused)
    except (SettingError, ImproperlyConfigured) as error:
        return _refuse(str(error), refused)
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, as shells count
    return 0


def _execute(arguments: Sequence[str]) -> None:
    """Run a management command so that its refusal reaches the caller as an exception."""
    import django
    from django.core.management import ManagementUtility

    django.setup()
    name, *rest = arguments
    command = ManagementUtility(["sluice", *arguments]).fetch_command(name)
    # Without it Django itself prints a CommandError and ends the process. It comes first, because
    # the last words belong to a verb of the command.
    command.run_from_argv(["sluice", name, "--traceback", *rest])


def _refuse(text: str, status: int) -> int:
    print(f"sluice: {text}", file=sys.stderr)
    return status


def _without_database(error: Exception) -> str:
    from django.conf import settings

    if os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE"):
        reason = str(error).splitlines()[0]
        return f"the database of DATABASE_URL does not answer: {reason}"
    return (
        f"no database runs in {settings.DATA_DIR.root}; start everything with: sluice run "
        "(or set DATABASE_URL, or SLUICE_DATA_DIR)"
    )
