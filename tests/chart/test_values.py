"""The chart is in order, and a wrong value is refused with words that say what is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.chart_readme import made
from tests.chart.programs_here import CHART, VALUES, program
from tests.chart.rendering import helm, rendered, run_helm

TRIAL = CHART / "ci" / "trial-values.yaml"


def test_readme_is_what_values_say() -> None:
    assert (CHART / "README.md").read_text() == made(CHART)


@pytest.mark.chart
@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_lint_finds_nothing(values: Path) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART, "--values", values)


@pytest.mark.chart
def test_unit_tests_of_the_chart_pass() -> None:
    done = subprocess.run(
        [program("helm-unittest"), "--color=false", CHART],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Tests:" in done.stdout


@pytest.mark.chart
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("server.url=sluice.example.net", "/server/url"),
        ("server.url=https://sluice.example.net/path", "/server/url"),
        ("web.replicas=many", "/web/replicas"),
        ("web.replica=3", "replica"),
        ("workers.evaluate.slots=0", "/workers/evaluate/slots"),
        ("queue.sentinelPort=65536", "/queue/sentinelPort"),
        ("workers.forecast.replicas=1", "forecast"),
        ("settings.SLUICE_SECRET_KEY=x", "SLUICE_SECRET_KEY"),
        ("settings.DEBUG=x", "DEBUG"),
        ("image.digest=latest", "/image/digest"),
        ("agent.moreCapabilities={SYS_PTRACE}", "/agent/moreCapabilities/0"),
        ("networkPolicy.neverTo={everywhere}", "/networkPolicy/neverTo/0"),
    ],
)  # fmt: skip
def test_wrong_value_is_refused_by_its_name(setting: str, said: str) -> None:
    assert rendered(TRIAL)

    done = run_helm("template", "sluice", CHART, "--values", TRIAL, "--set", setting)

    assert done.returncode != 0
    assert "schema" in done.stderr
    assert said in done.stderr


@pytest.mark.chart
@pytest.mark.parametrize(
    ("values", "settings", "said"),
    [
        (None, (), "there is no database"),
        (None, ("database.existingSecret=a",), "there is no queue"),
        (TRIAL, ("database.existingSecret=a",), "keep one of them"),
        (TRIAL, ("queue.existingSecret=a",), "keep one of them"),
        (TRIAL, ("database.urls.replica=a",), "the database of a trial has no replica"),
        (TRIAL, ("serviceMonitor.enabled=true",), "serviceMonitor.tokenSecret is needed"),
    ],
    ids=[
        "no database",
        "no queue",
        "two databases",
        "two queues",
        "replica of a trial",
        "metrics without a token",
    ],
)
def test_values_that_contradict_are_refused_with_what_to_do(
    values: Path | None, settings: tuple[str, ...], said: str
) -> None:
    files = ("--values", values) if values else ()
    words = [word for one in settings for word in ("--set", one)]

    done = run_helm("template", "sluice", CHART, *files, *words)

    assert done.returncode != 0
    assert said in done.stderr
