"""The commands that look at the host and the agent from outside: plan, status, restore."""

import json
import sys
from contextlib import ExitStack
from datetime import UTC, datetime

from enforcers import acceptance
from enforcers.assembly import Parts, assemble
from enforcers.canonical_json import to_plain
from enforcers.client import Client
from enforcers.config import AgentConfig
from enforcers.contract import ComplianceReport, CorrectedModel, PolicyDocument, decode_report
from enforcers.errors import EnforcerError, StateError
from enforcers.mechanism import Plan
from enforcers.restoring import put_back
from enforcers.signed_document import DocumentReader
from enforcers.state_dir import StateDir
from enforcers.text_table import text_table


def show_plan(config: AgentConfig, *, as_json: bool) -> int:
    """Print what the newest policy would change. Changes nothing."""
    parts = assemble(config, dry_run=True)
    document, source = _newest_document(config, parts)
    preview = parts.enforcement.preview(document)
    if as_json:
        answer = {
            "source": source,
            "revision": document.revision if document else None,
            "devices": [_plain_plan(device, plan) for device, plan in preview],
        }
        print(json.dumps(answer, indent=2))
        return 0
    print(source)
    for device, plan in preview:
        for line in _plan_lines(plan):
            print(f"{device}: {line}")
    return 0


def show_status(state_dir: StateDir, *, as_json: bool) -> int:
    """Print the last report and whether the agent runs. Raises StateError if there is none."""
    try:
        report = decode_report(state_dir.status.read_bytes())
    except OSError as error:
        raise StateError(
            f"{state_dir.status} cannot be read ({error.strerror}); has the agent run yet?"
        ) from error
    pid = state_dir.running_pid()
    if as_json:
        print(json.dumps({"running_pid": pid, "report": to_plain(report)}, indent=2))
        return 0
    running = f"runs as process {pid}" if pid is not None else "does not run"
    print(f"The agent {running}. Last report {report.reported_at:%Y-%m-%d %H:%M:%S} UTC:")
    print(f"revision {report.revision}, {report.state}{_refusal(report)}\n")
    rows = [
        (
            item.workload,
            item.resource,
            item.outcome,
            "-" if item.measured is None else f"{item.measured.rate:.0f}",
            item.reason,
        )
        for item in report.allocations
    ]
    print(text_table(("workload", "resource", "outcome", "measured", "reason"), rows))
    for one in corrected_of(report):
        print(f"\n{one.words}")
    return 0


def corrected_of(report: ComplianceReport) -> tuple[CorrectedModel, ...]:
    """The devices of which the agent had to lower the model."""
    return tuple(one for answer in report.support for one in answer.corrected or ())


def restore(config: AgentConfig, *, as_json: bool, by_force: bool = False) -> int:
    """Put everything back as it was found and forget the policy. Needs the agent stopped.

    What a lost ledger does not tell is looked for: what carries the agent's mark is put to the
    kernel's default, and `by_force` all else that it may touch.
    """
    state_dir = StateDir(root=config.state_dir)
    with state_dir.exclusive(), ExitStack() as ends:
        parts = assemble(config, dry_run=False)
        ends.callback(parts.locks.close)
        restored = put_back(parts, by_force=by_force)
        problems = [*restored.problems]
        try:
            parts.store.forget()
        except StateError as error:
            problems.append(str(error))
    if as_json:
        print(json.dumps({"devices": restored.devices, "problems": problems}, indent=2))
    elif not problems:
        print(f"as found: {', '.join(restored.devices) or 'nothing had been changed'}")
    for problem in problems:
        print(f"sluice-enforcer: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _newest_document(config: AgentConfig, parts: Parts) -> tuple[PolicyDocument | None, str]:
    held = parts.store.latest
    try:
        reader = DocumentReader(config.server.document_key)
        document = reader.read(Client(config.server).fetch_document())
        acceptance.accept(
            document,
            host=config.host,
            held=held.document if held else None,
            now=datetime.now(UTC),
        )
    except EnforcerError as error:
        if held is None:
            return None, f"no policy: {error}"
        return held.document, f"revision {held.document.revision}, held; {error}"
    return document, f"revision {document.revision} from the service"


def _plan_lines(plan: Plan | str) -> list[str]:
    if isinstance(plan, str):
        return [plan]
    notes = [f"{key}: {note.outcome}, {note.reason}" for key, note in plan.notes.items()]
    return [*(str(change) for change in plan.changes), *notes] or ["nothing to change"]


def _plain_plan(device: str, plan: Plan | str) -> dict[str, object]:
    if isinstance(plan, str):
        return {"device": device, "error": plan, "changes": [], "notes": {}}
    return {
        "device": device,
        "error": None,
        "changes": [
            {"target": c.target, "before": c.before, "after": c.after, "write": str(c.write)}
            for c in plan.changes
        ],
        "notes": {key: f"{note.outcome}: {note.reason}" for key, note in plan.notes.items()},
    }


def _refusal(report: ComplianceReport) -> str:
    return f" ({report.refusal})" if report.refusal else ""
