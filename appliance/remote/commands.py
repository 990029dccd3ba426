"""The commands that read and decide, through the API of a server as the person of a token."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from accounts.table import table
from sluice_client.api import (
    Api,
    IncidentParty,
    PolicyFileOrder,
    PolicyFileQuestion,
    RecommendationState,
    Rejection,
    RollBack,
)
from sluice_client.connection import ApiError, to_plain

CHANGES_EXIT = 3
"""As `sluice plan` says it on the server; 2 belongs to argparse."""
SHOWN = 100


def run_remote(api: Api, arguments: Sequence[str]) -> int:
    """Run a command and return its exit status; raises ApiError."""
    name, *rest = arguments
    arrange, run = COMMANDS[name]
    parser = ArgumentParser(prog=f"sluice {name}", description=run.__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    arrange(parser)
    return run(api, parser.parse_args(rest))


def _show(value: Any, text: str, options: Namespace) -> None:
    print(json.dumps(to_plain(value), indent=2) if options.json else text)


# --- See


def _status(api: Api, options: Namespace) -> int:
    """Show the state of every resource, and the health of Sluice itself."""
    found = api.get_status()
    _show({"resources": found.resources, "health": found.health}, found.text, options)
    return found.exit_status


def _recommendations(api: Api, options: Namespace) -> int:
    """List recommendations, or show one with its evidence."""
    if options.id is not None:
        one = api.get_recommendation(options.id)
        _show(one, one.text, options)
        return 0
    state = RecommendationState(options.state) if options.state else None
    found = api.list_recommendations(limit=SHOWN, state=state, kind=options.kind).items
    columns = ["id", "state", "resource", "topic", "kind", "created_at", "summary"]
    _show(found, _table(found, columns, empty="no recommendations"), options)
    return 0


def _incidents(api: Api, options: Namespace) -> int:
    """List incidents, newest first, or show the cause of one."""
    if options.id is not None:
        one = api.get_incident(options.id)
        _show(one, one.text, options)
        return 0
    found = api.list_incidents(limit=SHOWN, is_open=True if options.open else None).items
    rows = [
        {
            **_fields(row),
            "victim_names": _names(row.victims),
            "aggressor_names": _names(row.aggressors),
        }
        for row in found
    ]
    columns = ["id", "resource", "started_at", "ended_at", "peak_value", "threshold",
               "victim_names", "aggressor_names", "maintenance_window"]  # fmt: skip
    _show(found, table(rows, columns) if rows else "no incidents", options)
    return 0


def _names(parties: Sequence[IncidentParty]) -> str | None:
    return ", ".join(one.workload for one in parties) or None


# --- Decide


def _approve(api: Api, options: Namespace) -> int:
    """Approve a recommendation: it becomes a policy version that agents enforce."""
    key = str(uuid4())
    done = _once_more(lambda: api.approve_recommendation(options.id, idempotency_key=key))
    if done.version is None:
        text = f"Approved: {done.topic} of {done.resource}"
    else:
        gap = f": {done.gap}" if done.gap else ""
        text = f"Version {done.version} of {done.resource} is {done.policy_state}{gap}"
    _show(done, text, options)
    return 0


def _reject(api: Api, options: Namespace) -> int:
    """Reject a recommendation with a reason."""
    key, body = str(uuid4()), Rejection(reason=options.reason)
    done = _once_more(lambda: api.reject_recommendation(options.id, body, idempotency_key=key))
    _show(done, f"Rejected: {done.topic} of {done.resource}", options)
    return 0


def _rollback(api: Api, options: Namespace) -> int:
    """Return to an earlier policy version, or to the settings before the first."""
    named = api.list_resources(name=options.resource).items
    if not named:
        raise ApiError(f'there is no resource "{options.resource}"')
    key, body = str(uuid4()), RollBack(to_version=options.to_version)
    made = _once_more(lambda: api.roll_back_policy(named[0].id, body, idempotency_key=key))
    _show(made, f"{made.resource} version {made.version} is {made.state}", options)
    return 0


def _once_more(ask: Callable[[], Any]) -> Any:
    """Ask again if no answer came; under its key it is done once."""
    try:
        return ask()
    except ApiError as error:
        if error.status is not None:
            raise
    return ask()


# --- Policy as code


def _plan(api: Api, options: Namespace) -> int:
    """Show what a policy file would make, change and remove, and change nothing."""
    plan = api.plan_policy(PolicyFileQuestion(text=_text_of(options.file)))
    _show(plan, plan.text, options)
    return CHANGES_EXIT if plan.changes else 0


def _apply(api: Api, options: Namespace) -> int:
    """Take a policy file over, after the plan is shown; asks before anything is removed."""
    text = _text_of(options.file)
    # What the plan is made against; if somebody states something meanwhile, nothing is done.
    api.export_policy_file()
    seen = api.connection.etag
    plan = api.plan_policy(PolicyFileQuestion(text=text))
    if not options.json:
        print(plan.text)
    if plan.removed and not options.yes and not _may_remove(plan.removed):
        raise ApiError("nothing was done")
    order = PolicyFileOrder(text=text, may_remove=True, may_remove_most=options.allow_removals)
    done = api.apply_policy(order, idempotency_key=str(uuid4()), if_match=seen)
    _show(done, "Stated. Hosts change when a policy is approved." if done.changes else "", options)
    return 0


def _may_remove(count: int) -> bool:
    if not sys.stdin.isatty():
        raise ApiError(
            f"the file removes {count} things and nobody can be asked; nothing was done. "
            "Add --yes if that is meant"
        )
    return input(f"Remove {count} things? [y/N] ").strip().lower() in ("y", "yes")


def _export(api: Api, options: Namespace) -> int:
    """Print what people stated as a policy file."""
    found = api.export_policy_file()
    if options.output is not None:
        options.output.write_text(found.text, encoding="utf-8")
    elif options.json:
        _show(found, "", options)
    else:
        print(found.text, end="")
    return 0


def _text_of(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ApiError(f"{file} cannot be read: {error}") from error


# --- What all have


def _table(found: Sequence[Any], columns: Sequence[str], *, empty: str) -> str:
    return table([_fields(row) for row in found], columns) if found else empty


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def _nothing(_parser: ArgumentParser) -> None:
    pass


def _of_list(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", type=int, help="show this one")


def _of_recommendations(parser: ArgumentParser) -> None:
    _of_list(parser)
    parser.add_argument("--state", choices=list(RecommendationState), help="only in this state")
    parser.add_argument("--kind", help="only of this kind")


def _of_incidents(parser: ArgumentParser) -> None:
    _of_list(parser)
    parser.add_argument("--open", action="store_true", help="only ongoing incidents")


def _of_approval(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=int, help="its id in: sluice recommendations")


def _of_rejection(parser: ArgumentParser) -> None:
    _of_approval(parser)
    parser.add_argument("--reason", required=True, help="why not, for later readers")


def _of_rollback(parser: ArgumentParser) -> None:
    parser.add_argument("resource")
    parser.add_argument("--to-version", type=int, help="0 is no policy; default: the previous one")


def _of_file(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="policy file in YAML; - is standard input")


def _of_apply(parser: ArgumentParser) -> None:
    _of_file(parser)
    parser.add_argument("--yes", action="store_true", help="remove without a question")
    parser.add_argument(
        "--allow-removals", action="store_true",
        help="take over a file that removes more than half of what is stated",
    )  # fmt: skip


def _of_export(parser: ArgumentParser) -> None:
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it to this file")


COMMANDS: Mapping[
    str, tuple[Callable[[ArgumentParser], None], Callable[[Api, Namespace], int]]
] = {
    "status": (_nothing, _status),
    "recommendations": (_of_recommendations, _recommendations),
    "incidents": (_of_incidents, _incidents),
    "approve": (_of_approval, _approve),
    "reject": (_of_rejection, _reject),
    "rollback": (_of_rollback, _rollback),
    "plan": (_of_file, _plan),
    "apply": (_of_apply, _apply),
    "export": (_of_export, _export),
}
"""How each is asked, and what it does."""
