"""Dashboards and alarms name figures that are really shown, by the service and by an agent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from accounts.models import Scope, Token
from advisor.models import ResourceStatus
from advisor.pipeline import work_figures
from advisor.pipeline.backup_state import LastBackup, LogState, write_last, write_log
from advisor.pipeline.work_figures import CheckedIn
from config.paths import DataDir
from enforcers.metrics.exposition import render
from enforcers.metrics.families import families
from ingest.models import QuotaHit
from scripts import dashboards
from tests.config.queued import empty
from tests.enforcers.agent_bench import Bench
from tests.enforcers.policies import vnic
from tests.web.fleet import Fleet
from web.replica.lag import Lag
from web.replica.watch import ReplicaWatch

DOCS = Path(__file__).resolve().parents[2] / "docs"
RULES = DOCS / "alerts" / "sluice.rules.yml"
OF_PROMETHEUS = {"job", "instance", "up"}
"""Labels that Prometheus itself gives, and its own figure of each place that it asks."""
UNITS = {"short", "s", "bytes", "percentunit", "cps"}
"""Those of Grafana that are used here (packages/grafana-data/src/valueFormats/categories.ts)."""

Shown = dict[str, set[str]]


@pytest.fixture(autouse=True)
def queue(valkey_url: str) -> Iterator[None]:
    empty(valkey_url)
    yield
    empty(valkey_url)


def labels_of(text: str) -> Shown:
    """The labels of each metric that has a number."""
    found: Shown = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.fixture
def replica(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if pages were read on one that is behind by half a second."""
    watch = ReplicaWatch(lambda: Lag(behind_s=0.5))
    settings.HAS_REPLICA = True
    monkeypatch.setattr("web.metrics.WATCH", watch)
    monkeypatch.setattr("web.metrics.replica_is_read", lambda: watch.may_be_read(most_lag_s=5))


@pytest.fixture
def shown(client: Client, fleet: Fleet, settings: Any, replica: None, tmp_path: Path) -> Shown:
    """What a service with all that is optional shows: backups, check-in, quota; and an agent."""
    now = fleet.now
    settings.BACKUP_TARGET, settings.DATA_DIR = "/mnt/backup", DataDir(tmp_path)
    settings.CHECK_IN_URL = "https://hc.example/1"
    tmp_path.joinpath("backup").mkdir()
    write_last(tmp_path / "backup", LastBackup(made_at=now))
    log = LogState(since=now - timedelta(days=9), looked_at=now, waiting_since=None)
    write_log(tmp_path / "backup", log)
    work_figures.note_life(name="evaluate@a", kind="worker", queues=["evaluate"], now=now)
    work_figures.note_end(run="1", task="detect_group", subject="", seconds=1.0, now=now)
    work_figures.note_failure(task="detect_group")
    work_figures.keep_check_in(
        CheckedIn(at=now.timestamp(), was_taken=True, faults=0, answer="it answers 200")
    )
    ResourceStatus.objects.update(looked_at=now)
    nfs = fleet.resources["nfs-07"].pk
    work_figures.note_lags(organisation=fleet.organisation.pk, lags_s={nfs: [1.0]}, now=now)
    QuotaHit.objects.create(organisation=fleet.organisation, quota="points_per_s", last_hit_at=now)
    fleet.organisation.quota_points_per_s = 5000
    fleet.organisation.save()
    _, secret = Token.objects.issue(
        organisation=fleet.organisation, scope=Scope.METRICS, name="prometheus"
    )
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200

    bench = Bench(tmp_path / "agent")
    bench.publish(vnic(1, 10e6, limit=50e6, shares=300), revision=7)
    bench.tick()
    bench.tick()
    bench.tc.devices["up0"].classes["51ce:10"].sent_bytes += 1_250_000
    bench.tick()
    of_agent = render(families(bench.figures, "h1", bench.agent._clocks.moment()))
    return {**labels_of(answer.content.decode()), **labels_of(of_agent.decode())}


def problems(expression: str, shown: Shown, *, legend: str = "") -> list[str]:
    """What an expression of PromQL, or a legend, names that nobody shows."""
    names = set(re.findall(r"\b(sluice_\w+|up)\b(?=\s*[{\[)\s/<>=]|$)", expression))
    unknown = [f"no figure {name}" for name in names - shown.keys() - OF_PROMETHEUS]
    labels = {label for name in names for label in shown.get(name, set())} | OF_PROMETHEUS
    used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", expression))
    for group in re.findall(r"\b(?:by|without)\s*\(([^)]*)\)", expression):
        used |= {one.strip() for one in group.split(",")}
    used |= set(re.findall(r"\{\{(\w+)\}\}", legend))
    assert names, f"no figure is read in {expression!r}"
    return unknown + [f"no label {label} in {expression}" for label in used - labels]


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted((DOCS / "dashboards").glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            if panel["type"] != "row":
                yield file.name, panel


@pytest.mark.valkey
def test_every_figure_and_label_of_panels_and_alarms_is_shown(shown: Shown) -> None:
    found = [
        f"{name}, {panel['title']}: {problem}"
        for name, panel in panels()
        for target in panel["targets"]
        for problem in problems(target["expr"], shown, legend=target["legendFormat"])
    ]
    for rule in rules():
        found += [f"{rule['alert']}: {one}" for one in problems(rule["expr"], shown)]

    assert found == []


@pytest.mark.valkey
def test_document_lists_every_figure_of_the_service_with_its_labels(shown: Shown) -> None:
    table = (DOCS / "monitoring.md").read_text().partition("## Figures")[2].partition("## ")[0]
    documented: Shown = {}
    for names, labels in re.findall(r"^\| (`sluice_[^|]*) \|([^|]*)\|", table, re.MULTILINE):
        every, own = re.findall(r"`(\w+)`", names), re.findall(r"`(\w+)`", labels)
        # Two figures with a label each stand in one row.
        by_name = names.count("_by_") == len(own) > 1
        for place, name in enumerate(every):
            documented[name] = {own[place]} if by_name else set(own)
    of_service = {name: labels for name, labels in shown.items() if "enforcer" not in name}

    assert documented == {
        name: labels for name, labels in of_service.items() if "created" not in name
    }


def test_check_of_names_would_see_one_that_is_wrong() -> None:
    shown = {"sluice_agents": {"state"}}

    assert problems('sum by (state) (sluice_agents{job="a"})', shown, legend="{{state}}") == []
    assert problems("sluice_agent", shown) == ["no figure sluice_agent"]
    assert problems('sluice_agents{kind="x"} > 0', shown) == [
        'no label kind in sluice_agents{kind="x"} > 0'
    ]
    assert problems("sluice_agents > 0", shown, legend="{{host}}") == [
        "no label host in sluice_agents > 0"
    ]


def test_every_panel_says_what_it_shows_and_in_which_unit() -> None:
    found = list(panels())

    assert len(found) > 30
    for name, panel in found:
        assert panel["title"], name
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        assert panel["targets"], panel["title"]
        references = [one["refId"] for one in panel["targets"]]
        assert len(set(references)) == len(references), panel["title"]


def test_dashboards_are_told_apart_and_panels_overlap_nowhere() -> None:
    read = [json.loads(file.read_text()) for file in (DOCS / "dashboards").glob("*.json")]

    assert len({one["uid"] for one in read}) == len({one["title"] for one in read}) == 2
    assert len(read) == 2
    for one in read:
        numbers = [panel["id"] for panel in one["panels"]]
        assert len(set(numbers)) == len(numbers)
        places = [
            (place["x"] + across, place["y"] + down)
            for place in (panel["gridPos"] for panel in one["panels"])
            for across in range(place["w"])
            for down in range(place["h"])
        ]
        assert len(set(places)) == len(places)
        assert max(across for across, _ in places) == 23


def test_files_are_as_the_tables_make_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert dashboards.main(["--check"]) == 0, capsys.readouterr().err


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return list(group["rules"])


def test_every_alarm_leads_to_what_is_to_be_done() -> None:
    headings = re.findall(r"^### (\w+)$", (DOCS / "operations.md").read_text(), re.MULTILINE)

    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["summary"]
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert page == "docs/operations.md"
        assert anchor in {one.lower() for one in headings}, rule["alert"]
    # And none of them is told of an alarm that is gone.
    led_to = {rule["annotations"]["runbook_url"].partition("#")[2] for rule in rules()}
    assert {one.lower() for one in headings if one.startswith("Sluice")} == led_to
