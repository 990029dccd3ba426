#!/usr/bin/env python3
"""Write the dashboards of docs/dashboards from the tables in this file; `--check` only compares.

A panel is a title, what it says, a unit of Grafana, and a query of PromQL for each of its lines.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "dashboards"
WIDTH, HEIGHT, ACROSS = 8, 8, 3
SCHEMA = 36
"""Of the JSON: that of Grafana 9, which later ones bring up to date by themselves."""
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
OF_SERVICE, OF_AGENTS = '{job=~"$job"', '{job=~"$agents"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart, or with `is_number` the newest value alone."""

    title: str
    says: str
    unit: str
    lines: Sequence[tuple[str, str]]
    is_number: bool = False
    is_stacked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """A page of panels below headings."""

    uid: str
    title: str
    says: str
    rows: Sequence[tuple[str, Sequence[Panel]]]


def _of(metric: str, *more: str) -> str:
    """A selector of a metric of the service, or of agents, at the places that are chosen."""
    of_agents = metric.startswith("sluice_enforcer_")
    return metric + ", ".join([OF_AGENTS if of_agents else OF_SERVICE, *more]) + "}"


def _line(legend: str, metric: str, *more: str) -> tuple[str, str]:
    return _of(metric, *more), legend


def _sum_by(label: str, metric: str, *more: str) -> tuple[str, str]:
    return f"sum by ({label}) ({_of(metric, *more)})", f"{{{{{label}}}}}"


_KEPT = _of("sluice_allocations_by_verdict", 'verdict="met"')
_JUDGED = _of("sluice_allocations_by_verdict", 'verdict!~"unknown|no_demand"')
_SHOWN = _of("sluice_enforcer_read_back", 'control="limit"')
_LIMITS = f"sum by (workload, unit) ({_SHOWN})"
_SHORT = f"sum by (workload, control) ({_of('sluice_enforcer_control_falls_short')})"
_SECONDS, _RUNS, _FAILURES = (
    f"sum by (task) (increase({_of(f'sluice_task_{name}_total')}[15m]))"
    for name in ("seconds", "runs", "failures")
)

USERS = Dashboard(
    uid="sluice-users",
    title="Sluice: contention and promises",
    says="What contends, who was promised what, and what holds on the hosts.",
    rows=(
        (
            "Contention",
            (
                Panel(
                    title="Resources by state",
                    says="Datastores and uplinks by the state that the newest evaluation gave.",
                    unit="short", is_stacked=True,
                    lines=(_sum_by("state", "sluice_resource_state"),),
                ),
                Panel(
                    title="Level against threshold",
                    says="The level of each resource as a part of its own threshold: above 100 % "
                    "it is congested.",
                    unit="percentunit",
                    lines=((
                        f"{_of('sluice_resource_level')} / {_of('sluice_resource_threshold')}",
                        "{{resource}}",
                    ),),
                ),
                Panel(
                    title="Open incidents",
                    says="Incidents that go on, by how grave they are.",
                    unit="short", is_stacked=True,
                    lines=(_sum_by("severity", "sluice_incidents_open"),),
                ),
            ),
        ),
        (
            "Promises",
            (
                Panel(
                    title="Promises kept now",
                    says="Of the allocations that wanted something, the part that got what was "
                    "promised, by the reports of the last ten minutes.",
                    unit="percentunit", is_number=True,
                    lines=((f"sum({_KEPT}) / sum({_JUDGED})", "kept"),),
                ),
                Panel(
                    title="Allocations by verdict",
                    says="Measured rate against policy, by the newest report of each allocation.",
                    unit="short", is_stacked=True,
                    lines=(_sum_by("verdict", "sluice_allocations_by_verdict"),),
                ),
                Panel(
                    title="Silent hosts",
                    says="Hosts without a sample for two minutes: nothing is known of them.",
                    unit="short",
                    lines=(_line("silent", "sluice_hosts_silent"), _line("all", "sluice_hosts")),
                ),
            ),
        ),
        (
            "Enforcement",
            (
                Panel(
                    title="Allocations by outcome",
                    says="What became of each setting on its host, by the newest report.",
                    unit="short", is_stacked=True,
                    lines=(_sum_by("outcome", "sluice_allocations_by_outcome"),),
                ),
                Panel(
                    title="Agents by state",
                    says="What agents do with it; expired ones have put everything back.",
                    unit="short", is_stacked=True,
                    lines=(_sum_by("state", "sluice_agents"),),
                ),
                Panel(
                    title="Controls that do not hold",
                    says="The kernel does not do what the policy asks, as the agents see it.",
                    unit="short",
                    lines=((_SHORT, "{{workload}} {{control}}"),),
                ),
                Panel(
                    title="What workloads get",
                    says="Measured rate of each workload on its host, in the unit of its label.",
                    unit="short",
                    lines=((
                        f"sum by (workload, unit) ({_of('sluice_enforcer_measured')})",
                        "{{workload}} {{unit}}",
                    ),),
                ),
                Panel(
                    title="Limits in force",
                    says="The limit that the kernel shows for each workload, in the unit of its "
                    "label.",
                    unit="short",
                    lines=((_LIMITS, "{{workload}} {{unit}}"),),
                ),
                Panel(
                    title="Shortest lease",
                    says="Time until the first agent would put everything back, if it heard "
                    "nothing more of the service.",
                    unit="s", is_number=True,
                    lines=((f"min({_of('sluice_enforcer_lease_left_seconds')})", "lease"),),
                ),
            ),
        ),
    ),
)  # fmt: skip

PRODUCT = Dashboard(
    uid="sluice-product",
    title="Sluice itself",
    says="Whether Sluice takes samples, judges them in time, and keeps them.",
    rows=(
        (
            "Ingest",
            (
                Panel(
                    title="Points that come in",
                    says="Points a second that are stored, over the last whole minute.",
                    unit="cps",
                    lines=(_line("points", "sluice_quota_used", 'quota="points_per_s"'),),
                ),
                Panel(
                    title="Refused",
                    says="Lines refused in the last ten minutes, and bodies refused for a quota, "
                    "which come again.",
                    unit="short",
                    lines=(
                        _line("lines", "sluice_refused_lines"),
                        (
                            f"sum(increase({_of('sluice_quota_refused_bodies')}[10m]))",
                            "bodies",
                        ),
                    ),
                ),
                Panel(
                    title="Oldest samples",
                    says="Age of the newest sample of the five hosts that are furthest behind.",
                    unit="s",
                    lines=((f"topk(5, {_of('sluice_ingest_lag_seconds')})", "{{host}}"),),
                ),
            ),
        ),
        (
            "Detection",
            (
                Panel(
                    title="Lag of detection",
                    says="From ten seconds after a window's end to its stored state, over the "
                    "last ten minutes; quantile 1 is the worst.",
                    unit="s",
                    lines=(_line("{{quantile}}", "sluice_evaluation_lag_seconds"),),
                ),
                Panel(
                    title="Age of the newest evaluation",
                    says="Over all resources; quantile 1 is the oldest.",
                    unit="s",
                    lines=(_line("{{quantile}}", "sluice_evaluation_age_seconds"),),
                ),
                Panel(
                    title="Resources that are stale",
                    says="Resources without an evaluation for two minutes.",
                    unit="short",
                    lines=(
                        _line("stale", "sluice_resources_stale"),
                        _line("all", "sluice_resources"),
                    ),
                ),
            ),
        ),
        (
            "Work",
            (
                Panel(
                    title="Messages that wait",
                    says="Tasks in each queue that no worker has begun.",
                    unit="short",
                    lines=(_line("{{queue}}", "sluice_queue_waiting"),),
                ),
                Panel(
                    title="Oldest message",
                    says="For how long the next task of each queue has waited.",
                    unit="s",
                    lines=(_line("{{queue}}", "sluice_queue_oldest_seconds"),),
                ),
                Panel(
                    title="Signs of life",
                    says="Time since each worker and the scheduler gave one; they do so every few "
                    "seconds.",
                    unit="s",
                    lines=(_line("{{process}}", "sluice_process_silent_seconds"),),
                ),
                Panel(
                    title="Time of tasks",
                    says="Mean time that a task of each kind took, over 15 minutes.",
                    unit="s",
                    lines=((f"{_SECONDS} / {_RUNS}", "{{task}}"),),
                ),
                Panel(
                    title="Failures of tasks",
                    says="Runs that failed within 15 minutes, by kind of task.",
                    unit="short", is_stacked=True,
                    lines=((_FAILURES, "{{task}}"),),
                ),
                Panel(
                    title="Work that still fails",
                    says="Tasks that have not succeeded since they failed, and messages to people "
                    "that were given up within a day.",
                    unit="short",
                    lines=(
                        _line("of the organisation", "sluice_failed_work"),
                        _line("of the installation", "sluice_failed_work_of_installation"),
                        _line("messages given up", "sluice_messages_given_up"),
                    ),
                ),
            ),
        ),
        (
            "Storage",
            (
                Panel(
                    title="Size of the database",
                    says="All that the database of Sluice takes on its disk.",
                    unit="bytes",
                    lines=(_line("database", "sluice_database_bytes"),),
                ),
                Panel(
                    title="Free disk",
                    says="The free part of the disk of the data directory.",
                    unit="percentunit",
                    lines=((
                        f"{_of('sluice_disk_free_bytes')} / {_of('sluice_disk_bytes')}", "free",
                    ),),
                ),
                Panel(
                    title="Last backup",
                    says="Age of the last full backup, and how long the oldest piece of the log "
                    "waits for its target. Nothing where Sluice makes no backups.",
                    unit="s",
                    lines=(
                        _line("full", "sluice_backup_age_seconds"),
                        _line("log", "sluice_backup_log_waiting_seconds"),
                    ),
                ),
            ),
        ),
        (
            "Checks and agents",
            (
                Panel(
                    title="Checks that need attention",
                    says="Those of the page Health of Sluice.",
                    unit="short", is_stacked=True,
                    lines=((f"{_of('sluice_check_needs_attention')} == 1", "{{check}}"),),
                ),
                Panel(
                    title="Last check-in outside",
                    says="Time since the receiver outside heard that all is well. Nothing where "
                    "SLUICE_CHECK_IN_URL is not set.",
                    unit="s", is_number=True,
                    lines=(_line("check-in", "sluice_check_in_age_seconds"),),
                ),
                Panel(
                    title="Agents by state",
                    says="Silent ones do not report; expired ones have put everything back.",
                    unit="short", is_stacked=True,
                    lines=(_sum_by("state", "sluice_agents"),),
                ),
                Panel(
                    title="Rounds of agents",
                    says="Time since each agent ended a round.",
                    unit="s",
                    lines=(_line("{{instance}}", "sluice_enforcer_seconds_since_round"),),
                ),
                Panel(
                    title="Errors of agents",
                    says="What went wrong within 15 minutes, by where.",
                    unit="short", is_stacked=True,
                    lines=((
                        f"sum by (in) (increase({_of('sluice_enforcer_errors_total')}[15m]))",
                        "{{in}}",
                    ),),
                ),
                Panel(
                    title="Reports that wait",
                    says="Reports that agents could not deliver yet.",
                    unit="short",
                    lines=(_line("{{instance}}", "sluice_enforcer_reports_waiting"),),
                ),
            ),
        ),
    ),
)  # fmt: skip

DASHBOARDS = (USERS, PRODUCT)


def main(words: Sequence[str] | None = None) -> int:
    """Write the files, or with `--check` say which are not as they would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if unlike")
    is_check = parser.parse_args(words).check
    unlike = False
    for one in DASHBOARDS:
        file = FOLDER / f"{one.uid}.json"
        text = json.dumps(document(one), indent=1) + "\n"
        if not is_check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            unlike = True
            print(f"{file} is not as scripts/dashboards.py writes it", file=sys.stderr)
    return int(unlike)


def document(one: Dashboard) -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "uid": one.uid, "title": one.title, "description": one.says, "tags": ["sluice"],
        "schemaVersion": SCHEMA, "editable": True, "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"}, "timezone": "browser",
        "templating": {"list": _variables()},
        "panels": list(_panels(one)),
    }  # fmt: skip


def _variables() -> list[dict[str, Any]]:
    return [
        {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
        _variable("job", "Service", "label_values(sluice_hosts, job)"),
        _variable("agents", "Agents", "label_values(sluice_enforcer_info, job)"),
    ]


def _variable(name: str, label: str, query: str) -> dict[str, Any]:
    return {
        "name": name, "label": label, "type": "query", "datasource": SOURCE, "query": query,
        "refresh": 2, "includeAll": True, "allValue": ".*", "multi": True,
        "current": {"text": ["All"], "value": ["$__all"]},
    }  # fmt: skip


def _panels(one: Dashboard) -> Iterator[dict[str, Any]]:
    """Headings over the whole width, and below each its panels, three across."""
    number, top = 0, 0
    for title, panels in one.rows:
        number += 1
        place = {"x": 0, "y": top, "w": WIDTH * ACROSS, "h": 1}
        yield {
            "id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place,
            "panels": [],
        }  # fmt: skip
        top += 1
        for at, panel in enumerate(panels):
            number += 1
            down, across = divmod(at, ACROSS)
            place = {"x": across * WIDTH, "y": top + down * HEIGHT, "w": WIDTH, "h": HEIGHT}
            yield {**_panel(panel), "id": number, "gridPos": place}
        top += -(-len(panels) // ACROSS) * HEIGHT


def _panel(panel: Panel) -> dict[str, Any]:
    custom: dict[str, Any] = {"fillOpacity": 10}
    if panel.is_stacked:
        custom = {"fillOpacity": 40, "stacking": {"mode": "normal", "group": "A"}}
    return {
        "type": "stat" if panel.is_number else "timeseries",
        "title": panel.title,
        "description": panel.says,
        "datasource": SOURCE,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, **({} if panel.is_number else {"custom": custom})},
            "overrides": [],
        },
        "targets": [
            {
                "refId": chr(ord("A") + at),
                "datasource": SOURCE,
                "expr": expr,
                "legendFormat": legend,
            }
            for at, (expr, legend) in enumerate(panel.lines)
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
