"""What a policy file changes, as text for people and as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from advisor.core.resource import Unit
from advisor.decisions.policy_file.decide.difference import Change, Setting, Verb
from advisor.decisions.policy_file.decide.write import plain_record

CHANGES_EXIT = 3
"""2 belongs to argparse, and 1 to what is refused."""
_SIGNS = {Verb.MADE: "+", Verb.CHANGED: "~", Verb.REMOVED: "-"}
_NOUNS = {
    "rules": "rules",
    "alarm_budget": "alarm budget",
    "resources": "resource",
    "workloads": "workload",
    "teams": "team",
    "allocations": "allocation of",
    "pools": "pool",
    "maintenance": "maintenance window",
    "rollouts": "terms of rollouts",
    "ladder": "rule of the ladder",
    "notifications": "rule of notifications",
    "reports": "report that is sent",
}


def plan_text(changes: Sequence[Change]) -> str:
    """A line for each change, and how many there are."""
    lines = [line for change in changes for line in _lines(change)]
    return "\n".join([*lines, *([""] if lines else []), summary(changes)])


def summary(changes: Sequence[Change]) -> str:
    """How many changes of each kind."""
    if not changes:
        return "Nothing differs from the file."
    count = Counter(one.verb for one in changes)
    return ", ".join(f"{count[verb]} {verb}" for verb in Verb)


def plan_json(changes: Sequence[Change], units: dict[str, Unit]) -> dict[str, Any]:
    """The same for programs, with entries as they are written in a file."""
    count = Counter(one.verb for one in changes)
    return {
        "changes": [
            {
                "section": one.section,
                "name": one.key,
                "verb": str(one.verb),
                "before": _written(one.before, units),
                "after": _written(one.after, units),
                "settings": [
                    {"key": item.key, "before": item.before, "after": item.after}
                    for item in one.settings
                ],
            }
            for one in changes
        ],
        **{str(verb): count[verb] for verb in Verb},
    }


def _written(value: Any, units: dict[str, Unit]) -> Any:
    return value if value is None or isinstance(value, str | float) else plain_record(value, units)


def _lines(change: Change) -> Iterator[str]:
    yield f"{_SIGNS[change.verb]} {_NOUNS[change.section]} {change.key}".rstrip() + _end(change)
    if change.section == "rules":
        before, after = change.before.splitlines(), change.after.splitlines()
        yield from (f"    - {line}" for line in before if line not in after)
        yield from (f"    + {line}" for line in after if line not in before)
    yield from (f"    {_setting(one)}" for one in change.settings)


def _end(change: Change) -> str:
    match change.section, change.verb:
        case "alarm_budget", _:
            return f": {change.before} -> {change.after}"
        case "resources", Verb.REMOVED:
            return ", with its history and allocations"
    return ""


def _setting(one: Setting) -> str:
    return f"{one.key}: {_value(one.before)} -> {_value(one.after)}"


def _value(value: Any) -> str:
    if value is None:
        return "not stated"
    if isinstance(value, list):
        members = [
            ":".join(map(str, item.values())) if isinstance(item, dict) else item for item in value
        ]
        return ", ".join(members) or "none"
    return str(value)
