"""What is known of a run from outside of the code under test, and the invariants it is held to.

docs/simulation.md has the table of them. It knows documents by what the service answered, the
kernel by its own writes, and reads the agent's files as a person would.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from appliance.simulation.fleet import LEASE_S
from appliance.simulation.kernel import UNLIMITED, Group, Limits
from appliance.simulation.trail import Trail

LIMITLESS_FROM = 2**32 - 1
SMALLEST = 2
_KEYS = ("riops", "wiops")
_HELD = ("applied", "unchanged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A document as the service gave it to a host; `limits` by group."""

    revision: int
    issued_at: str
    dry_run: bool
    limits: Mapping[str, float | None]

    def wanted(self, path: str, group: Group) -> Limits:
        """What the kernel shall have for a group, by the words of the document."""
        if self.dry_run or path not in self.limits:
            return group.found
        return wanted_limits(group.found, self.limits[path])


def wanted_limits(found: Limits, limit: float | None) -> Limits:
    """No limit, and one beyond what the kernel counts, is `max`; one below cannot be held."""
    if limit is not None and limit < SMALLEST:
        return found
    limitless = limit is None or limit >= LIMITLESS_FROM
    value = UNLIMITED if limit is None or limitless else str(int(limit))
    return found | dict.fromkeys(_KEYS, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A report that an agent has made: when, and when by its own clock, as reports have it."""

    at_s: float
    reported_at: str
    revision: int | None


@dataclass(slots=True)
class HostTruth:
    """What is known of one host. `lease_end_s` is that of the newest policy it may enforce."""

    name: str
    issued: list[Issued] = field(default_factory=list)
    lease_end_s: float | None = None
    revision: int | None = None
    last_number: int = 0
    excused_until_s: float = 0.0
    is_ledger_lost: bool = False
    report: dict[str, Any] | None = None
    made: list[Made] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)

    def excuse(self, until_s: float) -> None:
        """A fault explains until then what stays in the kernel."""
        self.excused_until_s = max(self.excused_until_s, until_s)


class Truth:
    """Holds what happens to the invariants."""

    def __init__(self, names: list[str], trail: Trail) -> None:
        self._trail = trail
        self.hosts = {name: HostTruth(name) for name in names}

    # --- What the service does

    def document_given(self, body: bytes) -> None:
        """The service answered with a document."""
        said = json.loads(body)
        given = Issued(
            revision=said["revision"],
            issued_at=said["issued_at"],
            dry_run=said["dry_run"],
            limits={item["selector"]["value"]: item["limit"] for item in said["allocations"]},
        )
        self.hosts[said["host"]].issued.append(given)

    def report_taken(
        self, owner: str, report: Mapping[str, Any], *, number: int | None, count: int
    ) -> None:
        """The service took a report that was sent with the token of `owner`."""
        host = self.hosts[owner]
        self._trail.require(
            report["host"] == owner,
            "own-host-only",
            f"a report of {report['host']} was taken as one of {owner}",
        )
        if number is not None:
            self._trail.require(
                number > host.last_number,
                "newest-report-shown",
                f"report {number} of {owner} was taken after {host.last_number}",
            )
            host.last_number = number
        host.taken[report["reported_at"]] = count

    def shown(self, owner: str, applied: int | None, published: frozenset[int]) -> None:
        """What the service shows of a host after a report."""
        self._trail.require(
            applied is None or applied in published,
            "published-counts",
            f"{owner} is shown with revision {applied}, and {max(published, default=None)} is "
            "the newest that was published for it",
        )

    def kept(self, owner: str, found: Mapping[str, int]) -> None:
        """The records in the database of each report, by when it was made."""
        for at, count in self.hosts[owner].taken.items():
            self._trail.require(
                found.get(at, 0) == count,
                "acknowledged-kept",
                f"{found.get(at, 0)} of {count} records of the report of {at} of {owner} are kept",
            )

    def as_now(self) -> Callable[[], None]:
        """What brings back what is known of the service's database, when that goes back too."""
        then = {name: (one.last_number, dict(one.taken)) for name, one in self.hosts.items()}

        def bring_back() -> None:
            for name, (number, taken) in then.items():
                self.hosts[name].last_number, self.hosts[name].taken = number, dict(taken)

        return bring_back

    # --- What an agent does

    def written(self, name: str, path: str, group: Group, now_s: float) -> None:
        """The agent has set a group's limits."""
        host = self.hosts[name]
        lasts = host.lease_end_s is None or now_s <= max(
            host.lease_end_s + LEASE_S, host.excused_until_s
        )
        is_said = lasts and any(
            path in one.limits and one.wanted(path, group) == group.limits for one in host.issued
        )
        self._trail.require(
            host.is_ledger_lost or group.is_as_found or is_said,
            "only-what-was-signed",
            f"{name} set {path} to {shown(group.limits)}; found was {shown(group.found)}, and no "
            "document says so",
        )

    def accepted(self, name: str, document: Any, since_start_s: float, *, is_kept: bool) -> None:
        """The document that an agent holds, when it was issued, and whether it is kept on disk."""
        host = self.hosts[name]
        self._trail.require(
            document.host == name, "own-host-only", f"{name} holds a document of {document.host}"
        )
        self._trail.require(
            host.revision is None or document.revision >= host.revision,
            "revision-never-back",
            f"{name} went from revision {host.revision} to {document.revision}",
        )
        if is_kept:
            host.revision = document.revision
        if not document.dry_run:
            self.leased(name, since_start_s)

    def leased(self, name: str, since_start_s: float) -> None:
        """When a policy was issued that an agent has on its disk, and may enforce."""
        self.hosts[name].lease_end_s = since_start_s + LEASE_S

    def ledger(
        self, name: str, noted: frozenset[tuple[str, str | None]], changed: Mapping[str, Group]
    ) -> None:
        """What an agent's ledger on disk tells, as thing and identity, beside the kernel."""
        for path, group in changed.items():
            self._trail.require(
                self.hosts[name].is_ledger_lost
                or (f"{path} io.max", str(group.identity)) in noted,
                "ledger-tells-all",
                f"{path} of {name} has {shown(group.limits)} instead of {shown(group.found)}, "
                "and the ledger does not tell",
            )

    def said_as_found(self, name: str, who: str, changed: Mapping[str, Group]) -> None:
        """Somebody says that all is as it was found."""
        told = ", ".join(f"{path} {shown(one.limits)}" for path, one in sorted(changed.items()))
        self._trail.require(
            not changed, "found-comes-back", f"{who} of {name} says so, and there is {told}"
        )

    def reported(
        self, name: str, report: dict[str, Any], groups: Mapping[str, Group], now_s: float
    ) -> None:
        """An agent has made a report, of the kernel as it is."""
        host = self.hosts[name]
        host.report = report
        reported_at, revision = report["reported_at"], report["revision"]
        host.made.append(Made(at_s=now_s, reported_at=reported_at, revision=revision))
        places = {f"{path.rpartition('/')[2]}-{name}": path for path in groups}
        for item in report["allocations"]:
            controls, group = item["controls"], groups.get(places.get(item["workload"], ""))
            if group is None or controls["limit"]["outcome"] not in _HELD:
                continue
            limit = item["desired"]["limit"]
            value = UNLIMITED if limit is None or limit >= LIMITLESS_FROM else str(int(limit))
            self._trail.require(
                report["state"] != "enforcing" or all(group.limits[key] == value for key in _KEYS),
                "report-is-true",
                f"{name} reports a limit of {limit} for {item['workload']} as "
                f"{controls['limit']['outcome']}, and the kernel has {shown(group.limits)}",
            )

    # --- What time does

    def time_passed(
        self, name: str, changed: Mapping[str, Group], now_s: float, slack_s: float
    ) -> None:
        """The kernel at some moment; who looks after the host needs so long."""
        host = self.hosts[name]
        ends_s = max((host.lease_end_s or 0.0) + slack_s, host.excused_until_s)
        self._trail.require(
            host.is_ledger_lost or not changed or now_s <= ends_s,
            "lease-ends",
            f"{name} still has {', '.join(sorted(changed))} limited, and its lease ended at "
            f"{host.lease_end_s} s",
        )

    def is_right_or_leased(
        self, name: str, groups: Mapping[str, Group], now_s: float, slack_s: float
    ) -> None:
        """Three exchanges after the last fault: the newest policy, or none, or one that the host
        was told to hold before and whose lease lasts, where it says why it takes no newer one."""
        host = self.hosts[name]
        newest = host.issued[-1]
        is_right = all(one.limits == newest.wanted(path, one) for path, one in groups.items())
        is_reverted = all(one.is_as_found for one in groups.values())
        report = host.report or {}
        refuses = bool(report.get("refusal")) and now_s <= (host.lease_end_s or 0.0) + slack_s
        self._trail.require(
            is_right or is_reverted or refuses,
            "right-policy-in-time",
            f"{name} has neither revision {newest.revision} nor what was found, and says of that: "
            f"{report.get('refusal')}",
        )

    def came_right(
        self,
        name: str,
        groups: Mapping[str, Group],
        *,
        is_running: bool,
        made_from_s: float,
        made_until_s: float,
    ) -> None:
        """After the last fault the right policy is in force, or none; and reports have arrived."""
        host = self.hosts[name]
        self._trail.require(is_running, "right-policy-in-time", f"no agent of {name} runs")
        newest = host.issued[-1]
        wrong = {
            path: one for path, one in groups.items() if one.limits != newest.wanted(path, one)
        }
        changed = {path: one for path, one in groups.items() if not one.is_as_found}
        self._trail.require(
            not wrong or not changed,
            "right-policy-in-time",
            f"{name} has {', '.join(f'{p} {shown(g.limits)}' for p, g in sorted(wrong.items()))}, "
            f"which is not of revision {newest.revision}, and has not reverted",
        )
        due = [
            one.reported_at
            for one in host.made
            if made_from_s < one.at_s < made_until_s
            # A service that was restored from a backup takes no report on what it forgot.
            and (one.revision is None or one.revision <= newest.revision)
        ]
        missing = [at for at in due if at not in host.taken]
        self._trail.require(
            not missing,
            "reports-arrive",
            f"{len(missing)} of {len(due)} reports of {name} since the last fault are not there",
        )


def wire_time(at: datetime) -> str:
    """A time as reports have it."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def shown(limits: Limits) -> str:
    """Limits in a line."""
    return " ".join(f"{key}={value}" for key, value in limits.items() if value != UNLIMITED) or (
        "no limit"
    )


def seconds_since(start: datetime, at: datetime) -> float:
    """From the start of a run."""
    return (at - start).total_seconds()
