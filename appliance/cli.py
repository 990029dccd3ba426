"""The command `sluice`: a thin layer over the management commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from advisor.management.status_exit import StatusExit
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.own_process import load_models
from appliance.remote import commands as remote
from appliance.remote.person import find_login
from sluice_client.connection import ApiError

if TYPE_CHECKING:
    from django.core.management import BaseCommand

COMMANDS = {
    "See": {
        "status": "resources that are congested, stalled or unknown now; sets the exit status",
        "incidents": "incidents, newest first, or the cause of one",
        "report": "promises kept and minutes lost in a day, week, month or other period",
        "workloads": "workloads with where they run, their tier, and by what they are known",
        "claims": "claims of Kubernetes on volumes, where they lie, and changes of their class",
        "hosts": "hosts with their newest sample and the state of their agent",
        "compliance": "desired, applied and measured values of every allocation",
        "rejects": "lines that were sent but not stored, and why",
        "import": "samples of files, with a report of what was congested, when and by whom",
        "bundle": "an incident as a file under pseudonyms, for others to look at",
        "trust": "bundles through detection, attribution and advice, and what was correct",
        "replay": "published experiments in the simulator, compared with their results",
    },
    "Decide": {
        "recommendations": "open and past recommendations, or one with its evidence",
        "approve": "approve a recommendation",
        "reject": "reject a recommendation with a reason",
        "acknowledge": "say that somebody looks after a recommendation",
        "ladder": "rules of when advice may be approved, and what they say of one",
        "notify": "who is told of incidents: by mail, a webhook, or a chat or paging service",
        "snooze": "put a recommendation off; it comes back",
        "what-if": "simulate other shares, reservations and limits on stored history",
        "policy": "policy versions, newest first",
        "rollback": "return to an earlier policy version",
        "rollout": "policies on their way to hosts; stop all of them, and resume",
    },
    "Describe": {
        "resource": "list, add and change datastores and uplinks",
        "alarm-budget": "how many false alarms a week all baselines together may raise",
        "allocation": "list and set the shares, reservations and limits of workloads",
        "pool": "list and set pools: groups of workloads that share terms on an uplink",
        "export": "what people stated, as a policy file",
        "validate": "check policy files, each problem with its line",
        "plan": "what a policy file would make, change and remove",
        "diff": "a policy file beside what is stated, line by line",
        "apply": "take a policy file over",
        "source": "the vCenters that are read by themselves",
        "import-vcenter": "shares, limits, thresholds and rules that a vCenter has",
        "rules": "rules that give tiers, and say which devices are one or are not",
        "maintenance": "list and add maintenance windows, which silence expected congestion",
        "enroll": "write the configuration and keys of a host's agent, or new keys",
        "token": "list, create and revoke tokens",
        "join-token": "lines by which hosts connect themselves",
        "member": "list, invite and remove members, and change their roles",
        "audit": "who did what, and a check that nobody changed that record",
        "organisation": "list organisations, or create one with its administrator",
        "openapi": "the description of the API for programs",
        "secrets": "by which keys secrets in the database are encrypted; encrypt them anew",
        "quota": "what an organisation may send and have, what it uses, and changes of that",
    },
    "Operate": {
        "run": "start the server with everything it needs",
        "esxtop": "print what a running esxtop writes as line protocol, for Telegraf",
        "udp": "receive line protocol over UDP, which nobody acknowledges",
        "demo": "find, fix and verify contention once, on scratch data",
        "simulate": "real agents and service on virtual time with faults, held to invariants",
        "detect": "evaluate all resources once",
        "advise": "look once for advice on thresholds, queue depths, placement and limits",
        "recommend": "look once for policies to recommend",
        "history": "stored history: list, verify, export, and how long it is kept",
        "check-in": "say outside at once how Sluice is, and what the receiver answers",
        "backup": "back the private database up, list backups, take away what nobody needs",
        "restore": "bring the database of a moment back, into a new data directory",
        "verify": "restore a backup for a trial, compare it, and say how far it reaches",
        "checksums": "whether the private database notices damaged pages; add that to an old one",
        "login": "let commands work at a server elsewhere, as the person of a token",
        "logout": "let commands work on this machine again",
        "migrate": "bring the database's tables up to date",
        "changepassword": "set the password of a user",
        "completion": "print the completion script for bash, zsh or fish",
    },
}
RENAMED = {"claim": "allocation", "episodes": "incidents", "job": "maintenance"}
"""Former names of commands; they work for one release."""
TWO_WORDS = {("import", "vcenter"): "import-vcenter"}
"""Commands that people type as two words."""
REFUSED = {"status": StatusExit.NO_ANSWER}
"""The exit status of a command that could not do its work; 1 for all others."""
HELP_WORDS = ("--help", "-h", "help")
SQLSTATE_UNDEFINED_TABLE = "42P01"


def main() -> None:
    """Run one command and end the process with its exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        try:
            status = _answer(sys.argv[1:])
        finally:
            # The help of a command ends by an exception.
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as `head`, closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)


def _answer(arguments: Sequence[str]) -> int:
    """Run the command of these words, or print help."""
    if not arguments or (arguments[0] in HELP_WORDS and len(arguments) == 1):
        print(overview())
        return 0
    if arguments[0] in HELP_WORDS:
        arguments = [arguments[1], "--help"]
    return run_command(_by_new_name(_as_one_word(arguments)))


def _as_one_word(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments with the name of the command that two words stand for."""
    name = TWO_WORDS.get((arguments[0], arguments[1])) if len(arguments) > 1 else None
    return arguments if name is None else [name, *arguments[2:]]


def _by_new_name(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments with the command's present name; a former name warns on standard error."""
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
        "Finds contention for shared storage and network I/O, recommends and verifies policies.",
    ]
    for title, commands in COMMANDS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {name:<{width}}  {line}" for name, line in commands.items()]
    lines += ["", "Run sluice COMMAND --help for details."]
    return "\n".join(lines)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status; an error is one line on standard error."""
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import CommandError
    from django.db import OperationalError, ProgrammingError

    from config.env import SettingError

    refused = REFUSED.get(arguments[0], 1)
    try:
        if (status := _run_elsewhere(arguments)) is not None:
            return status
        _execute(arguments)
    except ApiError as error:
        return _refuse(str(error), refused)
    except CommandError as error:
        # argparse exits with 2 on arguments that it does not know.
        return _refuse(str(error), refused if error.returncode == 1 else error.returncode)
    except OperationalError as error:
        return _refuse(_without_database(error), refused)
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != SQLSTATE_UNDEFINED_TABLE:
            raise
        return _refuse("the database has no tables yet; create them with: sluice migrate", refused)
    except (SettingError, ImproperlyConfigured) as error:
        return _refuse(str(error), refused)
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, as shells count
    return 0


def _run_elsewhere(arguments: Sequence[str]) -> int | None:
    """Run a command at the server that one is logged in at; None: it is for this machine."""
    name = arguments[0]
    if name in COMMANDS["Operate"] or not any(name in group for group in COMMANDS.values()):
        return None
    login = find_login()
    if login is None:
        return None
    if name not in remote.COMMANDS:
        raise ApiError(
            f"{name} works on the server itself, and this machine is logged in at {login.server}; "
            "go on here by: sluice logout (or without SLUICE_SERVER)"
        )
    return remote.run_remote(login.api, arguments)


def _execute(arguments: Sequence[str]) -> None:
    """Run a management command so that its refusal reaches the caller as an exception."""
    from django.core.management import CommandError, ManagementUtility

    name, *rest = arguments
    if name == "run":
        command = _supervisor()
    else:
        try:
            load_models()
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        command = ManagementUtility(["sluice", *arguments]).fetch_command(name)
    # Without it Django itself prints a CommandError and ends the process. It comes first, because
    # the last words belong to a verb of the command.
    command.run_from_argv(["sluice", name, "--traceback", *rest])


def _supervisor() -> BaseCommand:
    """`sluice run`, which lives for ever, without the product's models."""
    from django.conf import settings
    from django.utils.log import configure_logging

    from appliance.management.commands.run import Command

    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    return Command()


def _refuse(text: str, status: int) -> int:
    print(f"sluice: {text}", file=sys.stderr)
    return status


def _without_database(error: Exception) -> str:
    from django.conf import settings

    if os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE"):
        reason = str(error).splitlines()[0]
        return f"the database of DATABASE_URL does not answer: {reason}"
    return (
        f"no database is running in {settings.DATA_DIR.root}; start everything with: sluice run "
        "(or set DATABASE_URL, or SLUICE_DATA_DIR)"
    )
