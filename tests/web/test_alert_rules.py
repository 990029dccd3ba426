"""The alarms of docs/alerts in Prometheus' own tester: each fires by its sign, none in calm."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCS = Path(__file__).resolve().parents[2] / "docs"
RULES = DOCS / "alerts" / "sluice.rules.yml"

pytestmark = pytest.mark.prometheus

GIGABYTE = 1024**3
CALM: Mapping[str, str] = {
    'up{job="sluice"}': "1x60",
    'sluice_evaluation_age_seconds{job="sluice", quantile="0.5"}': "4x60",
    'sluice_evaluation_age_seconds{job="sluice", quantile="1"}': "45x60",
    'sluice_resources_stale{job="sluice"}': "0x60",
    'sluice_queue_server_up{job="sluice"}': "1x60",
    'sluice_check_needs_attention{job="sluice", check="Worker of evaluate"}': "0x60",
    'sluice_check_needs_attention{job="sluice", check="Scheduler"}': "0x60",
    'sluice_check_needs_attention{job="sluice", check="Backup"}': "0x60",
    # Others have an alarm of their own, or none.
    'sluice_check_needs_attention{job="sluice", check="Ingest lag"}': "1x60",
    'sluice_queue_oldest_seconds{job="sluice", queue="upkeep"}': "20x60",
    'sluice_disk_free_bytes{job="sluice"}': f"{50 * GIGABYTE}-100000x60",
    'sluice_disk_bytes{job="sluice"}': f"{100 * GIGABYTE}x60",
    'sluice_refused_lines{job="sluice"}': "0x60",
    'sluice_quota_lost_points{job="sluice", quota="points_per_s"}': "700x60",
    'sluice_failed_work{job="sluice"}': "0x60",
    'sluice_failed_work_of_installation{job="sluice"}': "0x60",
    'sluice_messages_given_up{job="sluice"}': "0x60",
    'sluice_hosts_silent{job="sluice"}': "0x60",
    'sluice_agents{job="sluice", state="enforcing"}': "3x60",
    'sluice_enforcer_state{job="agents", state="enforcing"}': "1x60",
    'sluice_enforcer_state{job="agents", state="expired"}': "0x60",
    'sluice_incidents_open{job="sluice", severity="congested"}': "2x60",
    'sluice_incidents_open{job="sluice", severity="promise_missed"}': "0x60",
    'sluice_incidents_open{job="sluice", severity="stalled"}': "0x60",
    'sluice_check_in_age_seconds{job="sluice"}': "61x60",
    'sluice_check_in_faults{job="sluice"}': "0x60",
}
"""An hour, a value each minute."""
SIGNS: tuple[tuple[str, str, str], ...] = (
    ("SluiceAway", 'up{job="sluice"}', "0x60"),
    ("SluiceAway", 'up{job="sluice"}', "_x60"),
    (
        "SluiceDetectionOld",
        'sluice_evaluation_age_seconds{job="sluice", quantile="0.5"}', "31x60",
    ),
    ("SluiceResourcesStale", 'sluice_resources_stale{job="sluice"}', "1x60"),
    (
        "SluiceWorkerSilent",
        'sluice_check_needs_attention{job="sluice", check="Worker of evaluate"}', "1x60",
    ),
    (
        "SluiceWorkerSilent",
        'sluice_check_needs_attention{job="sluice", check="Scheduler"}', "1x60",
    ),
    ("SluiceWorkerSilent", 'sluice_queue_server_up{job="sluice"}', "0x60"),
    ("SluiceQueueOld", 'sluice_queue_oldest_seconds{job="sluice", queue="upkeep"}', "121x60"),
    ("SluiceDiskLow", 'sluice_disk_free_bytes{job="sluice"}', f"{9 * GIGABYTE}x60"),
    ("SluiceDiskFills", 'sluice_disk_free_bytes{job="sluice"}', f"{50 * GIGABYTE}-20000000x60"),
    (
        "SluiceBackupOld",
        'sluice_check_needs_attention{job="sluice", check="Backup"}', "1x60",
    ),
    ("SluiceSamplesRefused", 'sluice_refused_lines{job="sluice"}', "1x60"),
    (
        "SluiceSamplesRefused",
        'sluice_quota_lost_points{job="sluice", quota="points_per_s"}', "700+1x60",
    ),
    ("SluiceWorkFails", 'sluice_failed_work{job="sluice"}', "1x60"),
    ("SluiceWorkFails", 'sluice_failed_work_of_installation{job="sluice"}', "1x60"),
    ("SluiceMessagesGivenUp", 'sluice_messages_given_up{job="sluice"}', "1x60"),
    ("SluiceHostsSilent", 'sluice_hosts_silent{job="sluice"}', "1x60"),
    ("SluiceAgentsLost", 'sluice_agents{job="sluice", state="silent"}', "1x60"),
    ("SluiceAgentReverted", 'sluice_agents{job="sluice", state="expired"}', "1x60"),
    ("SluiceAgentReverted", 'sluice_enforcer_state{job="agents", state="expired"}', "1x60"),
    (
        "SluiceGraveIncident",
        'sluice_incidents_open{job="sluice", severity="promise_missed"}', "1x60",
    ),
    ("SluiceGraveIncident", 'sluice_incidents_open{job="sluice", severity="stalled"}', "1x60"),
    ("SluiceCheckInLate", 'sluice_check_in_age_seconds{job="sluice"}', "181x60"),
    ("SluiceCheckInLate", 'sluice_check_in_faults{job="sluice"}', "1x60"),
)  # fmt: skip
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'


def asked_of(series: Mapping[str, str], *, firing: str | None, at: str = "50m") -> dict[str, Any]:
    """A test of promtool: with these series exactly this alarm fires then, or none."""
    expected = [] if firing is None else [{"labels": f'{{alertname="{firing}"}}', "value": 1}]
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": FIRING, "eval_time": at, "exp_samples": expected}],
    }


def promtool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["promtool", *map(str, words)], capture_output=True, text=True, timeout=120, check=False
    )


def run_tests(folder: Path, *tests: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    shutil.copy(RULES, folder)
    file = folder / "tests.yml"
    whole = {"rule_files": [RULES.name], "evaluation_interval": "1m", "tests": list(tests)}
    file.write_text(yaml.safe_dump(whole))
    return promtool("test", "rules", file)


def test_rules_are_well_formed() -> None:
    done = promtool("check", "rules", RULES)

    assert done.returncode == 0, done.stderr
    assert "SUCCESS: 16 rules found" in done.stdout


def test_each_alarm_fires_by_its_sign_and_no_other_does(tmp_path: Path) -> None:
    tests = [asked_of({**CALM, name: values}, firing=alarm) for alarm, name, values in SIGNS]

    done = run_tests(tmp_path, *tests)

    assert done.returncode == 0, done.stdout + done.stderr
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    assert {rule["alert"] for rule in group["rules"]} == {alarm for alarm, _, _ in SIGNS}


def test_none_fires_in_calm_nor_by_a_sign_of_a_moment(tmp_path: Path) -> None:
    calm = [asked_of(CALM, firing=None, at=at) for at in ("1m", "20m", "59m")]
    # A restart: everything is behind for a minute.
    moments = {
        'up{job="sluice"}': "1x28 0 1x30",
        'sluice_evaluation_age_seconds{job="sluice", quantile="0.5"}': "4x28 70 4x30",
        'sluice_check_needs_attention{job="sluice", check="Scheduler"}': "0x28 1 0x30",
        'sluice_queue_oldest_seconds{job="sluice", queue="upkeep"}': "20x28 130 20x30",
    }

    done = run_tests(
        tmp_path, *calm, asked_of({**CALM, **moments}, firing=None, at="29m"),
        asked_of({**CALM, **moments}, firing=None, at="31m"),
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr


def test_tester_sees_an_alarm_that_does_not_fire(tmp_path: Path) -> None:
    done = run_tests(tmp_path, asked_of(CALM, firing="SluiceAway"))

    assert done.returncode != 0
    assert "SluiceAway" in done.stdout + done.stderr


def test_queries_of_all_panels_can_be_read(tmp_path: Path) -> None:
    expressions = [
        re.sub(r"\$\w+", "x", target["expr"])
        for file in sorted((DOCS / "dashboards").glob("*.json"))
        for panel in json.loads(file.read_text())["panels"]
        for target in panel.get("targets", [])
    ]
    rules = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(expressions)]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))

    done = promtool("check", "rules", file)

    assert done.returncode == 0, done.stderr
    assert f"{len(expressions)} rules found" in done.stdout
    assert len(expressions) > 30
