"""Policy files of any content, for properties."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from advisor.core.detection.maintenance_windows import Recurrence
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.ladder.rule import Level
from advisor.core.reporting.schedule import Every
from advisor.core.resource import IoCount, LimitScope, ResourceKind, Tier
from advisor.decisions.policy_file.decide.document import (
    AllocationEntry,
    LadderEntry,
    MaintenanceEntry,
    NotificationEntry,
    Place,
    PolicyFile,
    PoolEntry,
    ReportEntry,
    ResourceEntry,
    RolloutEntry,
    TeamEntry,
    WorkloadEntry,
)
from advisor.decisions.policy_file.decide.entry_checks import ordered, settled
from advisor.resource_kinds.registry import traits_of

# Words that YAML has taken for something else, and letters that need care.
ODD = st.sampled_from(
    [
        "no",
        "on",
        "null",
        "~",
        "0x1f",
        "1e5",
        "12:30",
        "007",
        "- a",
        "a: b",
        "#x",
        "'",
        '"',
        "ü\u2028",
    ]
)
NAMES = ODD | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12
).filter(str.strip)
FEW = st.sampled_from(["a", "b", "c", "d"])
YEAR = (datetime(2026, 1, 1), datetime(2027, 1, 1))  # noqa: DTZ001  Wall-clock time of a zone.
AMOUNTS = st.floats(min_value=1e-3, max_value=1e12) | st.integers(1, 10**9).map(float)


tags = st.lists(
    st.sampled_from(["tag=no", "label.team=shop", "label.a=b=c", "pool=0x1f", "unit= é "]),
    max_size=3,
).map(tuple)


@st.composite
def workloads(draw: st.DrawFn, name: str) -> WorkloadEntry:
    """One that states a tier, tags or both."""
    given = draw(tags)
    tier = draw(st.sampled_from([*Tier, None] if given else [*Tier]))
    return settled(WorkloadEntry(name=name, tier=tier, tags=given))


@st.composite
def resources(draw: Any, name: str) -> ResourceEntry:
    kind = draw(st.sampled_from(ResourceKind))
    is_store = kind is ResourceKind.DATASTORE
    traits = traits_of(kind)
    hosts = draw(st.sets(FEW, min_size=1, max_size=3 if is_store else 1))
    sizes = st.none() | AMOUNTS
    depths = st.none() | st.integers(1, 256)
    return settled(
        ResourceEntry(
            name=name,
            kind=kind,
            reached_by=tuple(
                # A device of its own, so that no two resources have one.
                Place(host=host, device=name, queue_depth=draw(depths) if is_store else None)
                for host in hosts
            ),
            found=draw(st.booleans()),
            unit=draw(st.none() | st.sampled_from(traits.units)),
            capacity=draw(sizes),
            line_rate=None if is_store else draw(sizes),
            mode=draw(st.none() | st.sampled_from(traits.modes)),
            threshold_mode=draw(st.sampled_from([ThresholdMode.FIXED, ThresholdMode.BASELINE])),
            threshold=draw(sizes),
            alarms_per_week=draw(st.sampled_from(["shared", "none", 0.5, 3.0])),
            window_s=draw(st.sampled_from([5.0, 10.0])),
            size_bytes=draw(sizes) if is_store else None,
            disks=draw(st.just("") | NAMES) if is_store else "",
            staged=draw(st.none() | st.booleans()),
        )
    )


@st.composite
def allocations(draw: Any, resource: ResourceEntry) -> AllocationEntry:
    reservation = draw(st.just(0.0) | AMOUNTS)
    return AllocationEntry(
        resource=resource.name,
        workload=draw(FEW),
        host=draw(st.sampled_from([at.host for at in resource.reached_by])),
        vdisk=draw(st.just("") | FEW),
        adapter_kind=draw(st.sampled_from(["vnic", "cgroup", "vdisk", "mount"])),
        adapter=draw(NAMES),
        selector=draw(st.sampled_from(["", "mark=7", "source_address=10.0.0.7"])),
        reservation=reservation,
        limit=draw(st.none() | AMOUNTS.map(lambda more: reservation + more)),
        shares=draw(st.none() | st.integers(1, 4000)),
        limit_scope=draw(st.sampled_from(LimitScope)),
        io_count=draw(st.sampled_from(IoCount)),
        size_bytes=draw(st.none() | AMOUNTS),
        even_if_full=reservation > 0,
    )


@st.composite
def pools(
    draw: Any, resource: ResourceEntry, promised: list[AllocationEntry]
) -> tuple[PoolEntry, ...]:
    """Pools of those who have an allocation there, each in one at most."""
    names = sorted({one.workload for one in promised if one.resource == resource.name})
    found = []
    for name in draw(st.sets(st.sampled_from(["p", "q"]))):
        members = draw(st.sets(st.sampled_from(names))) if names else set()
        names = [one for one in names if one not in members]
        own = [one for one in promised if one.resource == resource.name]
        reserved = sum(one.reservation for one in own if one.workload in members)
        reservation = draw(st.just(0.0) | AMOUNTS)
        most = max(reservation, reserved)
        found.append(
            PoolEntry(
                resource=resource.name,
                name=name,
                reservation=reservation,
                limit=draw(st.none() | AMOUNTS.map(lambda more, most=most: most + more)),
                shares=draw(st.none() | st.integers(1, 4000)),
                members=tuple(sorted(members)),
                even_if_full=reservation > 0,
            )
        )
    return tuple(found)


@st.composite
def windows(draw: Any, name: str, of: list[str]) -> MaintenanceEntry:
    return settled(
        MaintenanceEntry(
            name=name,
            start=draw(st.datetimes(*YEAR).map(str)),
            length_s=draw(st.sampled_from([61.5, 60.0, 5400.0, 7200.0, 86_400.0])),
            recurrence=draw(st.sampled_from(Recurrence)),
            zone=draw(st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns"])),
            resources=tuple(draw(st.sets(st.sampled_from(of)))) if of else (),
            workloads=tuple(draw(st.sets(FEW, max_size=2))),
        )
    )


def rules(name: str, of: list[str]) -> st.SearchStrategy[LadderEntry]:
    frozen = st.datetimes(*YEAR).map(str)
    whole = st.builds(
        LadderEntry,
        name=st.just(name),
        resource=st.sampled_from(["", *of]),
        tier=st.none() | st.sampled_from(Tier),
        kind=st.sampled_from([None, "policy", "threshold"]),
        level=st.none() | st.sampled_from(Level),
        windows=st.sampled_from([(), ("Fri 11:00 2h",), ("Sat 22:00 6h", "Mon-Fri 03:00 1h")]),
        zone=st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns"]),
        cooldown_s=st.sampled_from([60.0, 61.5, 86_400.0]),
        most_per_day=st.integers(0, 9),
        second_person=st.booleans(),
    )
    freeze = st.none() | st.tuples(frozen, NAMES)
    return st.tuples(whole, freeze).map(lambda drawn: settled(_frozen(*drawn)))


def _frozen(entry: LadderEntry, freeze: tuple[str, str] | None) -> LadderEntry:
    if freeze is None:
        return entry
    since, reason = freeze
    return replace(
        entry, frozen_from=since, frozen_until="2028-01-01T00:00", frozen_because=reason
    )


ROLLOUTS = st.builds(
    RolloutEntry,
    staged=st.booleans(),
    stage_s=st.sampled_from([1.5, 600.0, 3600.0]),
    longest_s=st.sampled_from([3600.0, 7200.0]),
    unsure=st.sampled_from(["waits", "goes-on"]),
)


def notifications(name: str, of: list[str]) -> st.SearchStrategy[NotificationEntry]:
    some = st.sets(st.sampled_from(of), max_size=2).map(tuple) if of else st.just(())
    return st.builds(
        NotificationEntry,
        name=st.just(name),
        channel=st.just("chat"),
        least=st.sampled_from(["congested", "promise_missed", "stalled"]),
        resources=some,
        tags=tags,
        quiet=st.sampled_from([(), ("Fri 11:00 2h",), ("Sat 22:00 6h", "Mon-Fri 03:00 1h")]),
        zone=st.sampled_from(["UTC", "Europe/Berlin"]),
        grave_anyway=st.booleans(),
        tells_end=st.booleans(),
    ).map(settled)


def reports(name: str) -> st.SearchStrategy[ReportEntry]:
    return st.builds(
        ReportEntry,
        name=st.just(name),
        channel=st.just("letters"),
        every=st.sampled_from(Every),
        hour=st.integers(0, 23),
        zone=st.sampled_from(["UTC", "Europe/Berlin"]),
        tag=st.sampled_from(["", "label.team=shop", "tag=no"]),
    )


@st.composite
def documents(draw: Any, names: Any = NAMES) -> PolicyFile:
    """A whole file, of all sections."""
    stores = [draw(resources(name)) for name in draw(st.sets(names, max_size=3))]
    drawn = [draw(allocations(draw(st.sampled_from(stores)))) for _ in range(3 * bool(stores))]
    promised = list({one.key: one for one in drawn}.values())
    uplinks = [one for one in stores if one.kind is ResourceKind.UPLINK]
    return ordered(
        PolicyFile(
            version=1,
            rules=draw(st.sampled_from(["", "tier: high where name ~ db-*\n", "# só \n\n  "])),
            alarm_budget=draw(st.sampled_from(["none", 0.5, 2.0])),
            resources=tuple(stores),
            workloads=tuple(draw(workloads(name)) for name in draw(st.sets(FEW, max_size=3))),
            teams=tuple(
                settled(TeamEntry(name=name, tags=draw(tags)))
                for name in draw(st.sets(FEW, max_size=2))
            ),
            allocations=tuple(promised),
            pools=tuple(pool for one in uplinks for pool in draw(pools(one, promised))),
            maintenance=tuple(
                draw(windows(name, [one.name for one in stores]))
                for name in draw(st.sets(FEW, max_size=2))
            ),
            rollouts=draw(ROLLOUTS),
            ladder=tuple(
                draw(rules(name, [one.name for one in stores]))
                for name in draw(st.sets(FEW, max_size=2))
            ),
            reports=tuple(draw(reports(name)) for name in draw(st.sets(FEW, max_size=2))),
            notifications=tuple(
                draw(notifications(name, [one.name for one in stores]))
                for name in draw(st.sets(FEW, max_size=2))
            ),
        )
    )
