"""The testbed's rows of a network: what is asked, how it is judged, and that all of it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bench.testbed import __main__ as testbed
from bench.testbed import storage_pass
from bench.testbed.asked import Asked
from bench.testbed.network import rows
from bench.testbed.network.kinds import RESERVATIONS_MBPS, below_reservation
from bench.testbed.network.part import SHORT
from bench.testbed.network.study import ideal_mbps, off_ideal_ratio
from enforcers.mechanisms.tc_htb.kernel_probe import missing_in_kernel
from enforcers.runner import SubprocessRunner
from tests.host.steady_rates import Rates

CHECKOUT = Path(__file__).parents[2]
WHY = "only root can make network namespaces"
# What issue and seed ask of a network: figures of the study, experiments and many workloads.
ASKED = {
    "NetIOC study, step a at 94 Mbit/s, off ideal by": "<= 0.02",
    "NetIOC study, step b at 94 Mbit/s, off ideal by": "<= 0.02",
    "NetIOC study, step c at 94 Mbit/s, off ideal by": "<= 0.02",
    "12 workloads beside NFS and migration, below reservation": "<= 0",
    "NFS : migration of the host at shares 2:1, off by": "<= 0.05",
    "pool with a limit of 30 of 94 Mbit/s over two senders, off by": "<= 0.02",
    "pool with a reservation of 50 of 94 Mbit/s, one of two members sends beside ten times "
    "its shares, below by": "<= 0.02",
    "pools with shares 2:1, one sender beside three, off by": "<= 0.05",
    "host ping while all classes are full, packets of one frame, p99 beyond 1.15 x "
    "unloaded": "<= 2",
    "own ping of a workload limited to 1 Mbit/s, packets of one frame, p50": "<= 40",
    "reserved workload's ping beside 12 bulk senders, packets of one frame, p50 beside "
    "unloaded": "<= 1.15",
    "NetIOC study, experiment 2: a reserved web server's mean response beside 12 bulk senders, "
    "beside unloaded": "<= 1.15",
    "change of policy under load, lost of a paced flow below its reservation": "<= 0",
    "change of policy under load, throughput beside that without changes": ">= 0.98",
    "CPU of a packet of a workload, 1 workloads, BPF beside u32": "<= 1.1",
    "CPU of a packet of a workload, 25 workloads, BPF beside u32": "<= 1.1",
    "CPU of a packet of a workload, 200 workloads, BPF beside u32": "<= 0.95",
    "CPU of a packet of the host itself, 200 workloads, BPF beside u32": "<= 0.8",
    "CPU of a packet of a workload, 1 workloads, HTB beside pfifo": "",
    "CPU of a packet of a workload, 25 workloads, HTB beside pfifo": "",
    "CPU of a packet of a workload, 200 workloads, HTB beside pfifo": "",
    "200 workloads, first policy": "<= 0.3",
    "200 workloads, change of every limit": "<= 0.1",
    "200 workloads, change of every limit, old and new together": "<= 0.02",
    "agent with 200 workloads, CPU of a core at a poll each 10 s": "< 0.3",
    "agent with 200 workloads, resident memory": "< 30",
    "agent with 200 workloads, resident memory over HTTPS": "< 30",
    "agent with 200 workloads in 10 pools with shares, CPU of a core": "< 3",
}


@pytest.fixture
def without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "missing_for_networks", lambda: WHY)


@pytest.mark.usefixtures("without_root")
def test_table_has_every_row_and_the_reason_where_nothing_can_be_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.json"
    monkeypatch.setattr(testbed, "clean_up_when_told_to_end", lambda: None)
    monkeypatch.setattr(sys, "argv", ["testbed", "--parts", "network", "--json", str(file)])

    testbed.main()

    found = json.loads(file.read_text())
    of_network = {row["what"]: row for row in found if row["note"] == WHY}
    assert {what: row["asked"] for what, row in of_network.items()} == ASKED
    for row in found:
        assert set(row) == {"what", "unit", "asked", "measured", "holds", "note", "part", "rung"}
        assert row["rung"] == "B"
        assert (row["measured"], row["holds"]) == (None, False)
    assert "host ping while all classes are full" in capsys.readouterr().out


@pytest.mark.usefixtures("without_root")
def test_part_selects_its_rows() -> None:
    found = list(rows.network_rows(SHORT, ["many"]))

    assert [row.what for row in found] == [what for what in ASKED if what.startswith("200")]


def test_part_that_fails_costs_no_other_part_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(effort: object) -> list[rows.Row]:
        raise RuntimeError("no namespace\nfor many reasons")

    asked = Asked(what="the next one", unit="ms", word="<=", bound=2)
    broken = replace(rows.KINDS, name="broken", measure=fail)
    well = replace(broken, name="well", asked=[asked], measure=lambda effort: [asked.row(1.5)])
    monkeypatch.setattr(rows, "ALL", (broken, well))
    monkeypatch.setattr(rows, "missing_for_networks", lambda: None)

    found = list(rows.network_rows(SHORT, ["broken", "well"]))

    assert [row.note for row in found[:-1]] == ["RuntimeError: no namespace for many reasons"] * 3
    assert [row.measured for row in found] == [None, None, None, 1.5]


@pytest.mark.parametrize(
    ("word", "holding", "beyond"), [("<=", 2.0, 2.1), ("<", 1.9, 2.0), (">=", 2.0, 1.9)]
)
def test_row_holds_up_to_its_bound(word: str, holding: float, beyond: float) -> None:
    asked = Asked(what="a", unit="ms", word=word, bound=2)

    assert asked.row(holding).holds
    assert not asked.row(beyond).holds
    assert not asked.open_row("no root").holds
    assert asked.row(beyond).asked == asked.open_row("no root").asked == f"{word} 2"


def test_row_of_which_nothing_is_asked_holds_once_it_was_measured() -> None:
    asked = Asked(what="a", unit="ratio")

    assert (asked.row(7.0).asked, asked.row(7.0).holds) == ("", True)
    assert not asked.open_row("no root").holds


@pytest.mark.parametrize(
    ("reservations", "ideal"),
    [
        # A tenth of a hundredth of the study's 8.1, 0.6 and 0.6; 8.4 and 0.9; 5.4 and 3.9 Gbit/s.
        ({1: 75.0, 2: 0.0, 3: 0.0}, (81.33, 6.33, 6.33)),
        ({1: 75.0, 3: 0.0}, (84.5, 9.5)),
        ({2: 45.0, 3: 30.0}, (54.5, 39.5)),
        ({2: 45.0}, (94.0,)),
    ],
)
def test_ideal_of_the_study_is_the_reservation_and_an_equal_part(
    reservations: dict[int, float], ideal: tuple[float, ...]
) -> None:
    assert list(ideal_mbps(reservations).values()) == pytest.approx(ideal, abs=0.01)


def test_furthest_class_counts_as_a_part_of_the_link() -> None:
    rates = Rates(mbps={"vm1": 81.0, "vm2": 4.45}, windows=3, left_out=0)

    assert off_ideal_ratio(rates, {"vm1": 81.33, "vm2": 6.33}) == pytest.approx(0.02)


def test_each_workload_and_each_kind_has_a_reservation_of_its_own() -> None:
    enough = dict(RESERVATIONS_MBPS)

    assert sum(enough.values()) == pytest.approx(45 + 9.4)
    assert below_reservation(enough) == []
    assert below_reservation({**enough, "vm7": 3.74, "nfs": 6.2}) == ["vm7", "nfs"]


def test_look_at_200_control_groups_writes_the_weights_of_those_who_wait() -> None:
    (row,) = storage_pass.storage_pass_rows()

    assert row.what == "agent with 200 workloads, CPU of a pass on storage, on a tree of files"
    assert row.asked == "<= 15"
    assert row.measured is not None
    assert row.measured > 0
    # Of two halves that wait in turn, most have another weight after each look.
    written = int(row.note.split("written in a pass: ")[1].split(";")[0])
    assert written > 100


@pytest.mark.root
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_that_is_told_to_end_leaves_nothing_behind(number: signal.Signals) -> None:
    missing = missing_in_kernel(SubprocessRunner(), is_privileged=True)
    if missing is not None:
        pytest.skip(f"no HTB here: {missing}")
    command = [sys.executable, "-m", "bench.testbed", "--short", "--parts", "kinds"]
    run = subprocess.Popen(
        command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        own = f"slt{run.pid}-"
        deadline_s = time.monotonic() + 60
        # So late that senders run in the namespaces.
        while not _lasting_pids(f"{own}vm3") and time.monotonic() < deadline_s:
            time.sleep(0.1)
        inside = [pid for name in _namespaces(own) for pid in _pids(name)]

        run.send_signal(number)
        status = run.wait(60)
    finally:
        run.kill()
        run.wait()

    assert inside
    assert status == 128 + number
    assert _namespaces(own) == []
    assert not any(_is_running(pid) for pid in inside)


def _namespaces(start: str) -> list[str]:
    shown = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in shown.stdout.splitlines() if line.startswith(start)]


def _pids(namespace: str) -> list[int]:
    command = ["ip", "netns", "pids", namespace]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    return [int(pid) for pid in shown.stdout.split()]


def _lasting_pids(namespace: str) -> set[int]:
    """Without programs that only set something up there."""
    before = _pids(namespace)
    time.sleep(0.3)
    return set(before) & set(_pids(namespace))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
