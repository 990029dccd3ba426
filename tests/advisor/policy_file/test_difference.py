"""A plan makes what is wanted out of what is, and nothing else."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from advisor.decisions.policy_file.decide.difference import (
    Present,
    after_changes,
    conflicts,
    difference,
    removable,
    removals,
)
from advisor.decisions.policy_file.decide.document import Place, PolicyFile, RolloutEntry
from advisor.decisions.policy_file.decide.read import read_policy_file
from tests.advisor.policy_file.documents import FEW, documents

EMPTY = PolicyFile(
    version=1,
    rules="",
    alarm_budget="none",
    resources=(),
    workloads=(),
    teams=(),
    allocations=(),
    pools=(),
    maintenance=(),
    rollouts=RolloutEntry(),
    ladder=(),
    notifications=(),
    reports=(),
)
SITES = documents(FEW)
SECTIONS = [one.name for one in fields(PolicyFile) if one.name != "version"]


def stated(document: PolicyFile) -> PolicyFile:
    """The document as people stated it all, so that nothing stays because it was found."""
    resources = tuple(replace(one, found=False) for one in document.resources or ())
    return replace(document, resources=resources)


@given(SITES, SITES)
def test_plan_of_any_file_gives_what_the_file_says(before: PolicyFile, wanted: PolicyFile) -> None:
    changes = difference(wanted, Present(document=stated(before)))

    assert after_changes(stated(before), changes) == wanted


@given(SITES)
def test_file_of_what_is_changes_nothing(document: PolicyFile) -> None:
    assert difference(document, Present(document=document)) == ()


@given(SITES, SITES)
def test_second_plan_is_empty(before: PolicyFile, wanted: PolicyFile) -> None:
    after = after_changes(before, difference(wanted, Present(document=before)))

    assert difference(wanted, Present(document=after)) == ()


@given(SITES, SITES, st.sets(st.sampled_from(SECTIONS)))
def test_section_that_is_left_out_is_not_touched(
    before: PolicyFile, wanted: PolicyFile, left: set[str]
) -> None:
    rest = replace(wanted, **dict.fromkeys(left))

    after = after_changes(before, difference(rest, Present(document=before)))

    for section in left:
        assert getattr(after, section) == getattr(before, section)


@given(SITES)
def test_empty_file_removes_all_that_people_stated_and_nothing_that_was_found(
    before: PolicyFile,
) -> None:
    present = Present(document=before)

    changes = difference(EMPTY, present)

    found = tuple(one for one in before.resources or () if one.found)
    assert after_changes(before, changes) == replace(EMPTY, resources=found)
    assert removals(changes) == removable(EMPTY, present) == len(changes)


def store(places: str, **settings: Any) -> PolicyFile:
    listed = ", ".join(f"{key}: {value}" for key, value in settings.items())
    text = (
        f"sluice: 1\nresources: [{{name: s, kind: datastore, reached_by: [{places}], {listed}}}]"
    )
    return read_policy_file(text, file="site.yaml").document


BOTH = "{host: h1, device: sda}, {host: h2, device: sdb}"


def test_device_that_was_found_stays_though_the_file_does_not_name_it() -> None:
    wanted = store("{host: h1, device: sda}")

    (change,) = difference(wanted, Present(document=store(BOTH)))
    kept = difference(
        wanted, Present(document=store(BOTH), found_places=frozenset({("h2", "sdb")}))
    )

    assert change.after.reached_by == (Place(host="h1", device="sda"),)
    assert kept == ()


def test_figure_that_facts_give_may_be_named_and_says_nothing() -> None:
    present = Present(
        document=store(BOTH),
        derived={"s": {"size_bytes": 4e12}},
        derived_depths={("h1", "sda"): 64},
    )
    same = store(BOTH.replace("sda", "sda, queue_depth: 64"), size="4TB")

    (change,) = difference(store(BOTH, size="5TB"), present)

    assert difference(same, present) == ()
    assert [(one.key, one.before, one.after) for one in change.settings] == [("size", None, "5TB")]


def test_window_that_would_cover_everything_without_its_resource_is_a_conflict() -> None:
    text = (
        "sluice: 1\nmaintenance: [{name: w, start: 2026-01-01T00:00, length: 1h, resources: [s]}]"
    )
    window = read_policy_file(text, file="site.yaml").document.maintenance
    present = Present(document=replace(store(BOTH), maintenance=window))

    gone = list(conflicts(PolicyFile(version=1, resources=()), present))
    with_it = list(conflicts(PolicyFile(version=1, resources=(), maintenance=()), present))

    assert [one.what for one in gone] == [
        'the maintenance window "w" names "s", which is no resource any more; it would cover all'
    ]
    assert with_it == []


def test_rule_of_a_resource_does_not_go_with_it_unsaid() -> None:
    text = "sluice: 1\nladder: [{name: r, resource: s, level: tell}]"
    ladder = read_policy_file(text, file="site.yaml").document.ladder
    present = Present(document=replace(store(BOTH), ladder=ladder))

    gone = list(conflicts(PolicyFile(version=1, resources=()), present))
    with_it = list(conflicts(PolicyFile(version=1, resources=(), ladder=()), present))
    unknown = list(conflicts(PolicyFile(version=1, resources=(), ladder=ladder), present))

    names = 'the rule "r" of the ladder names "s", which is no resource'
    assert [one.what for one in gone] == [f"{names} any more; it would go with it"]
    assert with_it == []
    assert [one.what for one in unknown] == [names]


def test_unit_of_a_resource_cannot_change() -> None:
    wanted = store(BOTH, unit="bytes_per_s")

    told = [one.what for one in conflicts(wanted, Present(document=store(BOTH)))]

    assert told == ["the unit of s cannot change; give the resource another name"]


def test_uplink_that_was_found_elsewhere_is_a_conflict() -> None:
    def uplink(host: str) -> PolicyFile:
        place = f"{{host: {host}, device: eth0}}"
        text = f"sluice: 1\nresources: [{{name: u, kind: uplink, reached_by: [{place}]}}]"
        return read_policy_file(text, file="site.yaml").document

    found = Present(document=uplink("h1"), found_places=frozenset({("h1", "eth0")}))
    stated = Present(document=uplink("h1"))

    (conflict,) = conflicts(uplink("h2"), found)
    assert conflict.what == (
        "an uplink is one interface of one host; u was found at h1:eth0; "
        "give the resource another name"
    )
    assert list(conflicts(uplink("h1"), found)) == []
    assert list(conflicts(uplink("h2"), stated)) == []
