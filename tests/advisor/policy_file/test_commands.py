"""`sluice export`, `validate`, `plan`, `diff` and `apply` as a person meets them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models.audit import LONGEST_SUBJECT, AuditEntry
from advisor.models import (
    Allocation,
    Attachment,
    MaintenanceWindow,
    Pool,
    Resource,
    Workload,
)
from tests.advisor.policy_file.site import PRODUCTION, SPARE, exported, on, ran, refused
from tests.advisor.scenario import MBIT

pytestmark = pytest.mark.django_db


def stated(slug: str) -> list[Any]:
    """Everything of an organisation that a person states, row by row."""
    resources = Resource.objects.filter(organisation__slug=slug).order_by("name")
    left = ("id", "organisation_id", "created_at")
    rows: list[Any] = [
        {name: value for name, value in row.items() if name not in left}
        for row in resources.values()
    ]
    places = Attachment.objects.filter(resource__in=resources).order_by("host__name", "device")
    columns = ("resource__name", "host__name", "device", "device_queue_depth", "found")
    rows += places.values_list(*columns)
    workloads = Workload.objects.filter(organisation__slug=slug).order_by("name")
    rows += workloads.values_list("name", "kind", "tier", "tier_stated", "found")
    names = ("resource__name", "workload__name", "host__name")
    promised = Allocation.objects.filter(resource__in=resources).order_by(*names)
    keys = ("id", "resource_id", "workload_id", "host_id", "pool_id", "wire_name")
    rows += promised.values_list(
        *names, *(f.attname for f in Allocation._meta.fields if f.attname not in keys)
    )
    for pool in Pool.objects.filter(resource__in=resources).order_by("name"):
        members = pool.members.values_list("workload__name", flat=True).order_by("workload__name")
        rows.append((pool.name, pool.reservation, pool.limit, pool.shares, *members))
    for window in MaintenanceWindow.objects.filter(organisation__slug=slug):
        names = tuple(one.name for one in (*window.resources.all(), *window.workloads.all()))
        rows.append((window.name, window.starts_at, window.length_s, window.zone, *names))
    return rows


def test_export_taken_over_by_an_empty_server_states_the_same(file: Path) -> None:
    status, told = ran(*on(SPARE, "apply", file))

    assert (status, told.splitlines()[-2]) == (0, "18 made, 0 changed, 0 removed")
    assert exported(SPARE) == file.read_text()
    assert stated(SPARE) == stated(PRODUCTION)


def test_audit_tells_which_file_was_taken_over(file: Path) -> None:
    ran(*on(SPARE, "apply", file))
    ran(*on(SPARE, "apply", file))

    told = AuditEntry.objects.filter(organisation__slug=SPARE)
    (entry,) = told.filter(action="apply a policy file")
    assert (entry.actor, entry.action) == ("command line", "apply a policy file")
    assert entry.subject == str(file)[-LONGEST_SUBJECT:]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert entry.details == {"made": 18, "changed": 0, "removed": 0, "sha256": digest}


@pytest.mark.parametrize(
    "command",
    [
        "resource",
        "allocation",
        "workloads",
        "maintenance",
        "rules",
        "alarm-budget",
        "pool",
        "ladder",
        "notify",
    ],
)
def test_commands_list_the_same_on_both(file: Path, command: str) -> None:
    ran(*on(SPARE, "apply", file))

    assert ran(*on(SPARE, command)) == ran(*on(PRODUCTION, command))


def test_second_plan_is_empty(file: Path) -> None:
    ran(*on(SPARE, "apply", file))

    for slug in (PRODUCTION, SPARE):
        assert ran(*on(slug, "plan", file)) == (0, "Nothing differs from the file.\n")
        assert ran(*on(slug, "diff", file)) == (0, "")


def test_export_is_the_same_bytes_each_time(file: Path) -> None:
    assert exported() == exported() == file.read_text()


def test_export_as_json_is_a_policy_file_too(file: Path, tmp_path: Path) -> None:
    as_json = tmp_path / "site.json"
    as_json.write_text(ran(*on(PRODUCTION, "export", "--json"))[1])

    assert ran(*on(PRODUCTION, "plan", as_json)) == (0, "Nothing differs from the file.\n")


def test_plan_tells_each_change_and_makes_none(file: Path) -> None:
    text = file.read_text().replace("threshold: 15", "threshold: 20").replace("2.5", "none")
    start = text.index("- resource: nfs-08")
    end = text.index("- resource:", start + 1)
    file.write_text(text[:start] + text[end:])
    before_it = stated(PRODUCTION)

    status, told = ran(*on(PRODUCTION, "plan", file))

    assert status == 3
    assert told.splitlines() == [
        "- alarm budget: 2.5 -> none",
        "~ resource nfs-07",
        "    threshold: 15 -> 20",
        "- allocation of db on nfs-08 (h3)",
        "",
        "0 made, 1 changed, 2 removed",
    ]
    assert stated(PRODUCTION) == before_it


def test_diff_shows_lines_as_they_are_written(file: Path) -> None:
    file.write_text(file.read_text().replace("limit: 800", "limit: 900"))

    status, told = ran(*on(PRODUCTION, "diff", file))

    assert status == 3
    lines = told.splitlines()
    assert lines[:2] == ["--- stated here", f"+++ with {file}"]
    assert [line for line in lines[2:] if line[0] in "+-"] == ["-  limit: 800", "+  limit: 900"]


def test_plan_for_programs_has_the_settings_before_and_after(file: Path) -> None:
    file.write_text(file.read_text().replace("limit: 800", "limit: 900"))

    status, told = ran(*on(PRODUCTION, "plan", file, "--json"))

    found = json.loads(told)
    (change,) = found["changes"]
    assert (status, found["changed"], found["made"]) == (3, 1, 0)
    assert (change["section"], change["name"]) == ("allocations", "db on nfs-07 (h2)")
    assert change["settings"] == [{"key": "limit", "before": 800, "after": 900}]


def test_change_is_taken_over(file: Path) -> None:
    file.write_text(file.read_text().replace("limit: 800", "limit: 900"))

    ran(*on(PRODUCTION, "apply", file))

    assert Allocation.objects.get(resource__name="nfs-07").limit == 900.0
    assert exported() == file.read_text()


def test_section_that_is_left_out_stays(file: Path) -> None:
    text = file.read_text()
    file.write_text("sluice: 1\n" + text[text.index("maintenance:") :].replace("90min", "2h"))

    ran(*on(PRODUCTION, "apply", file))

    assert exported() == text.replace("90min", "2h")


@pytest.fixture
def without_window(file: Path) -> Path:
    file.write_text(file.read_text().partition("maintenance:")[0] + "maintenance: []\n")
    return file


def test_removal_is_not_made_where_nobody_can_be_asked(without_window: Path) -> None:
    told = refused(*on(PRODUCTION, "apply", without_window))

    assert "the file removes 1 things and nobody can be asked" in told
    assert MaintenanceWindow.objects.exists()


@pytest.mark.parametrize(("answer", "left"), [("y", 0), ("", 1), ("n", 1)])
def test_removal_is_asked_for(
    without_window: Path, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or answer)

    if left:
        assert refused(*on(PRODUCTION, "apply", without_window)) == "nothing was done"
    else:
        ran(*on(PRODUCTION, "apply", without_window))

    assert asked == ["Remove 1 things? [y/N] "]
    assert MaintenanceWindow.objects.count() == left


EMPTY = """\
sluice: 1
rules: ''
alarm_budget: none
rollouts: {}
resources: []
workloads: []
teams: []
allocations: []
pools: []
maintenance: []
ladder: []
notifications: []
reports: []
"""


def test_file_that_removes_everything_needs_two_words(file: Path) -> None:
    file.write_text(EMPTY)

    told = refused(*on(PRODUCTION, "apply", file, "--yes"))
    before = Resource.objects.count()
    ran(*on(PRODUCTION, "apply", file, "--yes", "--allow-removals"))

    assert "the file removes 18 of 18 things; nothing was done" in told
    assert (before, Resource.objects.count()) == (3, 0)
    assert exported() == EMPTY


def test_what_a_service_refuses_is_told_with_its_line_and_nothing_is_done(file: Path) -> None:
    text = file.read_text().replace("reservation: 75Mbit", "reservation: 76Mbit")
    file.write_text(text.replace("threshold: 15", "threshold: 20"))
    line = text[: text.index("76Mbit")].count("\n") - 4

    for command in ("plan", "apply"):
        told = refused(*on(PRODUCTION, command, file))

        assert told.startswith(f"{file}:{line}: h1/up0: 76.0 Mbit/s for web-1 does not fit")
    assert Resource.objects.get(name="nfs-07").threshold == 15.0


def reserving(text: str, *amounts: str) -> str:
    """The file with these reservations of the workloads on the uplink, empty for none."""
    text = text.replace("  reservation: 75Mbit\n", "")
    for number, amount in enumerate(amounts, start=1):
        if amount:
            adapter = f"  adapter: p{number}\n"
            text = text.replace(adapter, f"{adapter}  reservation: {amount}\n")
    return text


def test_what_is_reserved_is_looked_at_as_often_for_three_workloads_as_for_one(
    file: Path,
) -> None:
    text = file.read_text()
    file.write_text(reserving(text, "20Mbit", "20Mbit", "20Mbit"))
    ran(*on(PRODUCTION, "apply", file))

    looks = []
    for amounts in (("21Mbit", "20Mbit", "20Mbit"), ("22Mbit", "22Mbit", "22Mbit")):
        file.write_text(reserving(text, *amounts))
        with CaptureQueriesContext(connection) as found:
            ran(*on(PRODUCTION, "plan", file))
        looks.append(sum('"reservation" > ' in one["sql"] for one in found))

    assert looks == [2, 2]


def test_what_one_gives_back_of_too_much_is_no_room_for_another(file: Path) -> None:
    text = file.read_text()
    file.write_text(reserving(text, "90Mbit\n  even_if_full: true"))
    ran(*on(PRODUCTION, "apply", file))
    file.write_text(reserving(text, "80Mbit\n  even_if_full: true", "5Mbit"))

    told = refused(*on(PRODUCTION, "plan", file))

    assert "h1/up0: 5.00 Mbit/s for pool batch does not fit" in told


def test_reservation_moves_from_one_workload_to_another_and_back(file: Path) -> None:
    before = file.read_text()
    text = before.replace("  reservation: 75Mbit\n", "")
    file.write_text(text.replace("  adapter: p2\n", "  adapter: p2\n  reservation: 75Mbit\n"))

    ran(*on(PRODUCTION, "apply", file))

    rows = Allocation.objects.filter(resource__name="h1/up0").order_by("workload__name")
    assert list(rows.values_list("reservation", flat=True)) == [0.0, 75 * MBIT, 0.0]
    file.write_text(before)
    ran(*on(PRODUCTION, "apply", file))
    assert exported() == before


def test_device_moves_from_one_resource_to_another(file: Path) -> None:
    text = file.read_text()
    moved = "  - host: h1\n    device: nfs-07\n"
    text = text.replace(moved, "").replace("  - host: h3\n", moved + "  - host: h3\n")
    file.write_text(text)

    ran(*on(PRODUCTION, "apply", file))

    assert exported() == text


def test_plan_that_is_out_of_date_is_not_taken_over(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(file.read_text().partition("maintenance:")[0] + "maintenance: []\n")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)

    def answered(_text: str) -> str:
        Workload.objects.filter(name="db").update(tier="low")
        return "y"

    monkeypatch.setattr("builtins.input", answered)

    told = refused(*on(PRODUCTION, "apply", file))

    assert told == "what is stated here changed since the plan; nothing was done"
    assert MaintenanceWindow.objects.exists()


def test_resource_that_was_found_and_is_not_named_stays(file: Path) -> None:
    Resource.objects.filter(name="nfs-08").update(discovered=True)
    text = exported()
    file.write_text(
        text.partition("- name: nfs-08")[0] + "workloads:" + text.partition("workloads:")[2]
    )

    status, _ = ran(*on(PRODUCTION, "plan", file))

    assert "found: true" in text
    assert status == 0


def test_resource_that_was_found_is_found_on_the_other_server_too(file: Path) -> None:
    Resource.objects.filter(name="h1/up0").update(
        discovered=True, derived={"capacity": 94 * MBIT, "line_rate": 100 * MBIT}
    )
    file.write_text(exported())

    ran(*on(SPARE, "apply", file))

    there = Resource.objects.get(name="h1/up0", organisation__slug=SPARE)
    # Its hosts say what it carries, so the file does not.
    assert (there.discovered, there.capacity, there.line_rate) == (True, None, None)
    assert exported(SPARE) == file.read_text()


def test_validate_needs_no_database_and_tells_every_problem(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(EMPTY)
    bad.write_text("sluice: 1\nresorces: []\nteirs: []\n")

    status, told = ran("validate", good, bad)
    as_json = json.loads(ran("validate", bad, "--json")[1])

    assert status == 1
    assert told.splitlines()[0] == f"{good}: no problem"
    assert told.splitlines()[1].startswith(f'{bad}:2: there is no key "resorces"')
    assert [(one["line"], one["file"]) for one in as_json] == [(2, str(bad)), (3, str(bad))]


def test_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"sluice: 1 # \xfc")

    assert "cannot be read" in refused("validate", tmp_path / "none.yaml")
    assert "cannot be read" in refused("validate", tmp_path / "latin.yaml")


POOL = """\
- resource: h1/up0
  name: batch
  limit: 80Mbit
  shares: 300
  members:
  - web-2
  - web-3
"""


def members(name: str) -> list[str]:
    rows = Allocation.objects.filter(pool__name=name).order_by("workload__name")
    return list(rows.values_list("workload__name", flat=True))


def test_members_move_between_pools_and_pools_are_removed(file: Path) -> None:
    text = file.read_text()
    assert POOL in text
    moved = POOL.replace("  - web-3\n", "")
    other = moved.replace("batch", "night").replace("web-2", "web-3")
    file.write_text(text.replace(POOL, moved + other))

    ran(*on(PRODUCTION, "apply", file))
    after = members("batch"), members("night")
    ran(*on(PRODUCTION, "apply", file.rename(file.with_name("b")), "--json"))
    file.write_text(text.replace("pools:\n" + POOL, "pools: []\n"))
    ran(*on(PRODUCTION, "apply", file, "--yes"))

    assert after == (["web-2"], ["web-3"])
    assert not Pool.objects.exists()
    assert Allocation.objects.filter(resource__name="h1/up0").count() == 3


def test_pools_stay_where_the_file_has_no_such_section(file: Path) -> None:
    """Also round an allocation that the file makes anew, and without one that it removes."""
    text = file.read_text().replace("pools:\n" + POOL, "")
    gone = text.index("- resource: h1/up0\n  workload: web-3")
    file.write_text(text[:gone] + text[text.index("maintenance:") :])

    ran(*on(PRODUCTION, "apply", file, "--yes"))

    assert members("batch") == ["web-2"]


@pytest.mark.parametrize(
    ("line", "instead", "told"),
    [
        ("  limit: 80Mbit\n", "  reservation: 1Mbit\n", "1.00 Mbit/s for pool batch does not fit"),
        ("  limit: 80Mbit\n", "  limit: 1\n  reservation: 2\n", "the limit is below the reserv"),
        ("  - web-3\n", "  - db\n", "no allocation on h1/up0: db"),
        (
            "h1/up0\n  name: batch\n  limit: 80Mbit",
            "nfs-07\n  name: batch",
            "there are pools on uplinks alone",
        ),
        ("resource: h1/up0\n  name", "resource: h9/up0\n  name", 'there is no resource "h9/up0"'),
    ],
)
def test_pool_that_cannot_be_is_told_with_its_line(
    file: Path, line: str, instead: str, told: str
) -> None:
    text = file.read_text()
    file.write_text(text.replace(POOL, POOL.replace(line, instead)))
    number = text[: text.index(POOL)].count("\n") + 1

    assert refused(*on(PRODUCTION, "plan", file)).startswith(f"{file}:{number}: ")
    assert told in refused(*on(PRODUCTION, "plan", file))


def test_uplink_that_was_found_gets_no_second_interface(file: Path) -> None:
    Attachment.objects.filter(resource__name="h1/up0").update(found=True)
    Resource.objects.filter(name="h1/up0").update(discovered=True)
    text = file.read_text()
    file.write_text(text.replace("device: up0", "device: up1"))

    told = refused(*on(PRODUCTION, "plan", file))

    assert "an uplink is one interface of one host; h1/up0 was found at h1:up0" in told
