"""`sluice trust` as a person meets it: on a machine on which nothing runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.core.casebook.bundle import Bundle, read_bundle, write_bundle
from advisor.decisions.casebook.replay import CASEBOOK
from appliance.embedded.scratch_directory import PREFIX

SLUICE = Path(sys.executable).with_name("sluice")
LONGEST_S = 120

pytestmark = pytest.mark.postgres


def trust(folder: Path, *words: object) -> subprocess.Popen[str]:
    """Started with a data directory that is empty, so there is no server."""
    return subprocess.Popen(
        [SLUICE, "trust", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "SLUICE_DATA_DIR": str(folder / "data"),
            "DJANGO_SETTINGS_MODULE": "config.settings",
        },
    )


@pytest.fixture
def incident() -> Bundle:
    """The first incident that may serve to develop with."""
    file = next(one for one in sorted(CASEBOOK.glob("uplink-*[02468].bundle")))
    return read_bundle(file.read_bytes())


def scratch_of(pid: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"{PREFIX}{pid}-*"))


@pytest.mark.long
def test_says_what_it_finds_and_what_of_it_is_true(incident: Bundle, tmp_path: Path) -> None:
    assert incident.truth is not None
    (tmp_path / "a.bundle").write_bytes(write_bundle(incident))
    wrong = replace(incident.truth, culprit="nobody else")
    (tmp_path / "b.bundle").write_bytes(write_bundle(replace(incident, truth=wrong)))

    running = trust(tmp_path, tmp_path, "--json")
    out, progress = running.communicate(timeout=LONGEST_S)

    assert running.returncode == 0, progress
    rows = json.loads(out)
    assert set(rows[0]) == {"what", "unit", "asked", "measured", "holds", "note"}
    by_what = {row["what"]: row for row in rows}
    assert by_what["congestion found"]["holds"] is True
    assert by_what["culprit named first"]["measured"] == 0.5
    assert progress.splitlines()[-1] == "2 of 2: b.bundle"
    assert scratch_of(running.pid) == []


@pytest.mark.long
def test_names_the_culprit_to_people(incident: Bundle, tmp_path: Path) -> None:
    assert incident.truth is not None
    (tmp_path / "a.bundle").write_bytes(write_bundle(incident))

    out, _ = trust(tmp_path, tmp_path / "a.bundle").communicate(timeout=LONGEST_S)

    assert f"{incident.truth.culprit} (right)" in out


def test_ends_with_its_database_when_it_is_told_to(incident: Bundle, tmp_path: Path) -> None:
    (tmp_path / "a.bundle").write_bytes(write_bundle(incident))
    running = trust(tmp_path, *[tmp_path / "a.bundle"] * 1000)
    latest = time.monotonic() + LONGEST_S
    while not (folders := scratch_of(running.pid)) or not list(folders[0].glob("run/.s.PGSQL*")):
        assert time.monotonic() < latest
        time.sleep(0.05)
    server = int((folders[0] / "postgres" / "postmaster.pid").read_text().split()[0])

    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=LONGEST_S)

    assert scratch_of(running.pid) == []
    assert not Path(f"/proc/{server}").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("{folder}/none",), "none cannot be read"),
        (("{folder}/short",), "this is no bundle"),
        (("{folder}",), "there is no file with the ending .bundle in"),
        pytest.param(
            ("{folder}/adapter",), "'carrier pigeon' is none of vnic", marks=pytest.mark.long
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    incident: Bundle, tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    (tmp_path / "short").write_bytes(b"short")
    first, *others = incident.resource.allocations
    pigeon = replace(first, adapter_kind="carrier pigeon")
    resource = replace(incident.resource, allocations=(pigeon, *others))
    (tmp_path / "adapter").write_bytes(write_bundle(replace(incident, resource=resource)))

    running = trust(tmp_path, *(one.format(folder=tmp_path) for one in words))
    _, said = running.communicate(timeout=LONGEST_S)

    assert running.returncode == 1
    assert why in said.splitlines()[-1]
