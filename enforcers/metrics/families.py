"""From what the agent knows to the families of /metrics. Pure."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from enforcers.clocks import Moment
from enforcers.contract import CorrectedModel, EnforcementState, ResourceSpec, Setting
from enforcers.metrics.exposition import Family, Kind, Sample
from enforcers.metrics.figures import Figures, Round, Spent
from enforcers.outcomes import FALLS_SHORT
from enforcers.policy_store import HeldPolicy
from enforcers.results import Enforced
from enforcers.version import VERSION

_SHARES = "shares"
PREFIX = "sluice_enforcer_"


def families(figures: Figures, host: str, now: Moment) -> list[Family]:
    """All that is known at `now`; before the first round, what counts from the start."""
    last = figures.last
    found = [
        _one(
            "info",
            "The host as it is enrolled, and the version of its agent.",
            1.0,
            {"host": host, "version": VERSION},
        ),
        *_of_loops(figures),
    ]
    if last is None:
        return found
    return [
        *found,
        *_of_round(last, now),
        *_of_policy(last, now),
        *_of_devices(last),
        *_of_allocations(figures, now),
    ]


def _of_loops(figures: Figures) -> list[Family]:
    return [
        *_spent("round", "a round: pull, enforce, measure, report", figures.rounds),
        *_spent("pass", "a pass: look, plan, write, read back", figures.passes),
        *_spent("period", "a period of following what workloads do", figures.periods),
        _family(
            "errors_total",
            Kind.COUNTER,
            "What went wrong: no policy could be had or taken (policy), a device could not "
            "be brought to it (device), a whole round or a period of following failed.",
            [
                Sample(value=count, labels={"in": kind})
                for kind, count in sorted(figures.troubles.items())
            ],
        ),
    ]


def _of_round(last: Round, now: Moment) -> list[Family]:
    writes = last.writes
    made = {"made": writes.made, "failed": writes.failed, "adjusted": writes.adjusted}
    return [
        _one(
            "seconds_since_round",
            "Time since the last round ended.",
            max(0.0, now.boot_s - last.at.boot_s),
        ),
        _family(
            "state",
            Kind.GAUGE,
            "1 for what the agent does with the policy.",
            [
                Sample(value=float(state is last.state), labels={"state": state})
                for state in EnforcementState
            ],
        ),
        _family(
            "kernel_writes_total",
            Kind.COUNTER,
            "Writes to the kernel: made, failed, or small adjustments between rounds.",
            [Sample(value=count, labels={"result": how}) for how, count in made.items()],
        ),
        _one("reports_waiting", "Reports that wait for the service.", last.reports_waiting),
        _family(
            "reports_dropped_total",
            Kind.COUNTER,
            "Reports that were given up.",
            [Sample(value=last.reports_dropped)],
        ),
    ]


def _of_policy(last: Round, now: Moment) -> list[Family]:
    found = [
        _one(
            "policy_refused",
            "1 if no policy could be had or taken in the last round.",
            float(last.is_refused),
        ),
    ]
    held = last.held
    if held is None:
        return found
    left_s = held.lease.ends_at_boot_s - now.boot_s
    return [
        *found,
        _one("policy_revision", "Revision of the policy held.", held.document.revision),
        _one(
            "policy_age_seconds",
            "Time since the service issued the policy held.",
            now.boot_s - _issued_at_boot_s(held),
        ),
        _one(
            "lease_left_seconds",
            "Time until the policy held ends, 0 when it is over.",
            max(0.0, left_s),
        ),
    ]


def _of_devices(last: Round) -> list[Family]:
    """Nothing for a device that is not known to do less than its policy states."""
    rows = [(one, {"device": one.device, "unit": str(one.unit)}) for one in last.corrected]

    def capacity(name: str, words: str, of: Callable[[CorrectedModel], float]) -> Family:
        samples = [Sample(value=of(one), labels=labels) for one, labels in rows]
        return _family(f"corrected_{name}", Kind.GAUGE, words, samples)

    return [
        capacity(
            "capacity_stated",
            "What the policy states of a device that does less, in `unit`.",
            lambda one: one.stated,
        ),
        capacity(
            "capacity_real",
            "What such a device did under full load, in `unit`.",
            lambda one: one.real,
        ),
        capacity(
            "capacity_model",
            "What such a device is taken for now, in `unit`.",
            lambda one: one.model,
        ),
        _family(
            "corrected_after_seconds",
            Kind.GAUGE,
            "How long requests had piled up in such a device before the first correction.",
            [Sample(value=one.after_s, labels={"device": one.device}) for one in last.corrected],
        ),
    ]


def _of_allocations(figures: Figures, now: Moment) -> list[Family]:
    last = figures.last
    assert last is not None  # The caller has looked.
    specs = {spec.name: spec for spec in last.held.document.resources} if last.held else {}
    rows = [_row(item, specs.get(item.allocation.resource)) for item in last.result.enforced]

    def settings(name: str, words: str, of: Callable[[Enforced], Setting | None]) -> Family:
        samples = [s for item, labels, unit in rows for s in _controls(of(item), labels, unit)]
        return _family(name, Kind.GAUGE, words, samples)

    def since(item: Enforced) -> float | None:
        boot_s = figures.in_force.since_boot_s(item.allocation.id)
        if boot_s is None:
            return None
        return (now.now - timedelta(seconds=now.boot_s - boot_s)).timestamp()

    return [
        settings("wanted", "What the policy asks for, in `unit`.", _wanted),
        settings("applied", "What was set, after rounding.", lambda item: item.applied),
        settings("read_back", "What the kernel shows.", lambda item: item.seen.setting),
        _family(
            "measured",
            Kind.GAUGE,
            "What the workload got, in `unit`, over the window of the reports.",
            [
                Sample(value=found.rate, labels={**labels, "unit": unit})
                for item, labels, unit in rows
                if (found := last.measured.get(item.allocation.id)) is not None
            ],
        ),
        _family(
            "control_outcome",
            Kind.GAUGE,
            "1 for the outcome of the last pass.",
            [
                Sample(value=1.0, labels={**labels, "control": kind, "outcome": found.outcome})
                for item, labels, _ in rows
                for kind, found in item.controls.by_kind().items()
            ],
        ),
        _family(
            "control_falls_short",
            Kind.GAUGE,
            "1 if the kernel does not do what the policy asks.",
            [
                Sample(
                    value=float(found.outcome in FALLS_SHORT), labels={**labels, "control": kind}
                )
                for item, labels, _ in rows
                for kind, found in item.controls.by_kind().items()
            ],
        ),
        _family(
            "enforced_since_timestamp_seconds",
            Kind.GAUGE,
            "Since when all that the policy asks has been in force, as far as this process "
            "knows; absent if it is not.",
            [Sample(value=since(item), labels=labels) for item, labels, _ in rows],
        ),
    ]


def _wanted(item: Enforced) -> Setting:
    wanted = item.allocation
    return Setting(reservation=wanted.reservation, limit=wanted.limit, shares=float(wanted.shares))


def _controls(setting: Setting | None, labels: Mapping[str, str], unit: str) -> Iterator[Sample]:
    if setting is None:
        return
    for kind, value, its_unit in (
        ("reservation", setting.reservation, unit),
        ("limit", setting.limit, unit),
        ("shares", setting.shares, _SHARES),
    ):
        yield Sample(value=value, labels={**labels, "control": kind, "unit": its_unit})


def _row(item: Enforced, spec: ResourceSpec | None) -> tuple[Enforced, dict[str, str], str]:
    """What was enforced, its labels, and the unit of its numbers."""
    labels = {
        "allocation": item.allocation.id,
        "workload": item.allocation.workload,
        "resource": item.allocation.resource,
        "device": spec.device if spec else "",
    }
    return item, labels, spec.unit if spec else ""


def _issued_at_boot_s(held: HeldPolicy) -> float:
    """By the clock of the lease, which nobody can set."""
    length_s = (held.lease.ends_at - held.document.issued_at).total_seconds()
    return held.lease.ends_at_boot_s - length_s


def _spent(what: str, words: str, spent: Spent) -> list[Family]:
    return [
        _family(
            f"{what}_seconds",
            Kind.SUMMARY,
            f"Time of {words}.",
            [
                Sample(value=spent.total_s, suffix="_sum"),
                Sample(value=spent.count, suffix="_count"),
            ],
        ),
        _one(f"{what}_longest_seconds", f"The longest of {what}_seconds.", spent.longest_s),
    ]


def _one(name: str, words: str, value: float, labels: Mapping[str, str] | None = None) -> Family:
    return _family(name, Kind.GAUGE, words, [Sample(value=value, labels=labels or {})])


def _family(name: str, kind: Kind, words: str, samples: list[Sample]) -> Family:
    return Family(name=f"{PREFIX}{name}", kind=kind, words=words, samples=tuple(samples))
