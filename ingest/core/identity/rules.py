"""Rules that people write once, instead of stating each workload and datastore.

    # who gets what; the first rule that fits a workload decides
    tier: high    where name ~ db-*
    tier: low     where kind = container and namespace = "batch jobs"
    same: kvm-01:/dev/sdb = kvm-02:/dev/sdc
    apart: kvm-01:sdb kvm-03:sdb
    apart: kvm-01:/mnt/vm kvm-02:nas:/export/vm
    keep-together: db-01
    keep-apart:    db-01/scsi0:0 db-01/scsi0:1

A condition compares a field of the workload: `=` and `!=` take a word, `~` and `!~` a pattern in
which `*` is any text and `?` any letter. Letter case makes no difference.
A member of keep-together: and keep-apart: is a workload, or `WORKLOAD/DISK`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate

from ingest.core.identity.facts import Kind, Place
from ingest.core.identity.grouping import Statement

FIELDS = ("name", "kind", "namespace", "pool", "tag", "host", "cluster", "unit")
"""What a condition may ask for, beside `label.NAME`."""
KEEP_TOGETHER, KEEP_APART = "keep-together:", "keep-apart:"
_OPERATORS = ("!=", "!~", "=", "~")


class RuleError(ValueError):
    """A text that holds no rules; `problems` name each line and what to write instead."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One comparison; `pattern` is the regular expression of what it asks for."""

    field: str
    pattern: str
    wanted: bool

    def fits(self, fields: Mapping[str, Sequence[str]]) -> bool:
        """Whether some value of the field fits, or none where that is wanted."""
        values = fields.get(self.field, ())
        found = any(re.fullmatch(self.pattern, value, re.IGNORECASE) for value in values)
        return found is self.wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class TierRule:
    """A tier for the workloads that fit all conditions."""

    line: int
    text: str
    tier: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRule:
    """Disks to keep on one datastore, or each on another; `members` are as they were written."""

    together: bool
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules of a text, in its order."""

    tiers: tuple[TierRule, ...] = ()
    statements: tuple[Statement, ...] = ()
    placement: tuple[PlacementRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The tier of a workload, and the rule that decided with those it overruled."""

    tier: str
    reason: str


def decide_tier(rules: Rules, fields: Mapping[str, Sequence[str]]) -> Decided | None:
    """The tier that the first fitting rule gives; None if no rule fits."""
    fitting = [rule for rule in rules.tiers if all(one.fits(fields) for one in rule.conditions)]
    if not fitting:
        return None
    first, *others = fitting
    overruled = [str(one.line) for one in others if one.tier != first.tier]
    also = f"; it comes before line {' and '.join(overruled)}" if overruled else ""
    return Decided(tier=first.tier, reason=f"line {first.line}: {first.text}{also}")


def read_rules(text: str, *, tiers: Iterable[str]) -> Rules:
    """The rules of a text; RuleError names every line that is none."""
    known = tuple(tiers)
    problems: list[str] = []
    found: list[TierRule] = []
    statements: list[Statement] = []
    placement: list[PlacementRule] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            rule = _rule(number, line, known)
        except ValueError as error:
            problems.append(f"line {number}: {error}")
            continue
        if isinstance(rule, TierRule):
            found.append(rule)
        elif isinstance(rule, PlacementRule):
            placement.append(rule)
        elif rule is not None:
            statements.append(rule)
    problems.extend(_opposite(statements))
    if problems:
        raise RuleError(problems)
    return Rules(tiers=tuple(found), statements=tuple(statements), placement=tuple(placement))


def rule_line(word: str, members: Sequence[str]) -> str:
    """A line that gives these words to the rule; empty if they cannot be written in one."""
    quoted = [f'"{name}"' if "'" in name else f"'{name}'" for name in members]
    line = " ".join([word, *quoted])
    return line if _words(line) == [word, *members] else ""


def _words(line: str) -> list[str]:
    """The words of a line; none if it is several lines, or a quote is open."""
    try:
        return shlex.split(_spaced(line), comments=True) if len(line.splitlines()) == 1 else []
    except ValueError:
        return []


def _rule(
    number: int, line: str, tiers: Sequence[str]
) -> TierRule | Statement | PlacementRule | None:
    """The rule of one line; None for a line without any."""
    words = shlex.split(_spaced(line), comments=True)
    if not words:
        return None
    if words[0] == "tier:":
        return _tier_rule(number, line.strip(), words[1:], tiers)
    if words[0] in ("same:", "apart:"):
        return _statement(words)
    if words[0] in (KEEP_TOGETHER, KEEP_APART):
        return _placement_rule(words)
    raise ValueError(
        f'"{words[0]}" is no rule; write tier:, same:, apart:, {KEEP_TOGETHER} or {KEEP_APART}'
    )


def _spaced(line: str) -> str:
    """The line with its operators as words of their own, outside quotes."""
    parts = re.split(r"(\"[^\"]*\"|'[^']*')", line)
    return "".join(
        part if at % 2 else re.sub(r"\s*(!=|!~|=|~)\s*", r" \1 ", part)
        for at, part in enumerate(parts)
    )


def _tier_rule(number: int, text: str, words: Sequence[str], tiers: Sequence[str]) -> TierRule:
    if not words or words[0].lower() not in tiers:
        given = f'"{words[0]}"' if words else "nothing"
        raise ValueError(f"{given} is no tier; the tiers are {', '.join(tiers)}")
    tier, rest = words[0].lower(), list(words[1:])
    if len(rest) < 2 or rest[0] != "where":
        raise ValueError("write a condition: tier: high where name ~ db-*")
    conditions: list[Condition] = []
    while rest:
        joint = rest.pop(0)
        if joint != ("and" if conditions else "where"):
            raise ValueError(f'"{joint}" stands where "and" was expected; quote words with spaces')
        if len(rest) < 3:
            raise ValueError("a condition is a field, an operator and a value: kind = container")
        conditions.append(_condition(*rest[:3]))
        del rest[:3]
    return TierRule(line=number, text=text, tier=tier, conditions=tuple(conditions))


def _condition(field: str, operator: str, value: str) -> Condition:
    field = field.lower() if not field.startswith("label.") else field
    if field not in FIELDS and not field.removeprefix("label.") != field:
        raise ValueError(f'"{field}" is no field; there are {", ".join(FIELDS)} and label.NAME')
    if operator not in _OPERATORS:
        raise ValueError(f'"{operator}" is no operator; there are {" ".join(_OPERATORS)}')
    pattern = translate(value) if "~" in operator else re.escape(value)
    return Condition(field=field, pattern=pattern, wanted=not operator.startswith("!"))


def _statement(words: Sequence[str]) -> Statement:
    places = [word for word in words[1:] if word != "="]
    if len(places) != 2:
        raise ValueError(f"{words[0]} takes two places: {words[0]} kvm-01:sdb kvm-02:sdc")
    one, other = sorted(_place(text) for text in places)
    if one == other:
        raise ValueError(f"{one} is stated twice")
    return Statement(one=one, other=other, same=words[0] == "same:")


def _placement_rule(words: Sequence[str]) -> PlacementRule:
    members = tuple(dict.fromkeys(words[1:]))
    if not all(members) or not members:
        raise ValueError(f"{words[0]} takes workloads or disks: {words[0]} db-01/scsi0:0 db-02")
    return PlacementRule(together=words[0] == KEEP_TOGETHER, members=members)


def _place(text: str) -> Place:
    """`host:device`, `host:/mount/point` or `host:server:/export`, which is known by its mount.

    A device may be written with its directory.
    """
    host, colon, subject = text.partition(":")
    if not host or not subject or not colon:
        raise ValueError(
            f'"{text}" is no place; write HOST:DEVICE, HOST:/MOUNT/POINT or HOST:SERVER:/EXPORT'
        )
    device = subject.removeprefix("/dev/")
    kind = Kind.MOUNT if device.startswith("/") or ":/" in device else Kind.DEVICE
    return Place(host, kind, device)


def _opposite(statements: Sequence[Statement]) -> list[str]:
    """Pairs that are stated to be one and not to be."""
    pairs = {True: set[tuple[Place, Place]](), False: set[tuple[Place, Place]]()}
    for one in statements:
        pairs[one.same].add((one.one, one.other))
    both = sorted(pairs[True] & pairs[False])
    return [f"{one} and {other} are stated to be one and not to be" for one, other in both]
