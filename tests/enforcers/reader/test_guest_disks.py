"""Questions to monitors over real sockets, which a thread answers as QEMU does, or worse."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from enforcers.reader.guest_disks import REST_PASSES, GuestDisks
from enforcers.reader.host_tree import HostTree
from enforcers.reader.processes import RunningGuest
from enforcers.reader.qemu import read_guest

GREETING = {"QMP": {"version": {}, "capabilities": ["oob"]}}
EVENT = {"event": "STOP", "timestamp": {}}
STATS = {
    "rd_operations": 10, "wr_operations": 20, "rd_bytes": 4096, "wr_bytes": 8192,
    "rd_total_time_ns": 50, "wr_total_time_ns": 60, "flush_operations": 1,
    "flush_total_time_ns": 7, "wr_highest_offset": 5, "account_failed": True,
}  # fmt: skip
COUNTERS = (
    "rd_operations=10i,wr_operations=20i,flush_operations=1i,rd_bytes=4096i,wr_bytes=8192i,"
    "rd_total_time_ns=50i,wr_total_time_ns=60i,flush_total_time_ns=7i"
)
DISK = {"device": "", "qdev": "/machine/peripheral/scsi0/virtio-backend", "stats": STATS}
Answer = Callable[[str], list[Any]]
Serve = Callable[[str, Answer], list[str]]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a monitor at a path of the tree; gives the commands that it was asked."""
    with ExitStack() as started:

        def start(path: str, answer: Answer) -> list[str]:
            place = tmp_path / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            listening = started.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(str(place))
            listening.listen()
            asked: list[str] = []
            target = lambda: _monitor(listening, answer, asked)  # noqa: E731
            threading.Thread(target=target, daemon=True).start()
            return asked

        yield start


def _monitor(listening: socket.socket, answer: Answer, asked: list[str]) -> None:
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            with suppress(OSError), client, client.makefile("rwb") as wire:
                _say(wire, answer(""))
                for line in wire:
                    asked.append(json.loads(line)["execute"])
                    _say(wire, answer(asked[-1]))


def _say(wire: Any, messages: list[Any]) -> None:
    for one in messages:
        wire.write(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\r\n")
    wire.flush()


def answers(*disks: dict[str, Any]) -> Answer:
    """What a monitor says; events come in between, as they do."""
    said = {"": [GREETING], "qmp_capabilities": [EVENT, {"return": {}}]}
    return lambda command: said.get(command, [EVENT, {"return": list(disks)}])


def guest(pid: int = 7, path: str = "/run/vm.qmp", name: str = "db 1") -> RunningGuest:
    argv = ["qemu-system-x86_64", "-name", name, "-qmp", f"unix:{path},server=on,wait=off"]
    return RunningGuest(pid, "", read_guest(argv))


@pytest.fixture
def tree(tmp_path: Path) -> HostTree:
    return HostTree(str(tmp_path))


def test_disk_of_a_guest_is_a_line_and_nothing_else_is_asked(serve: Serve, tree: HostTree) -> None:
    asked = serve("/run/vm.qmp", answers(DISK))

    lines = GuestDisks().lines("h1", [guest()], tree)

    assert lines == [rf"qemu_block,host=h1,workload=vm/db\ 1,disk=scsi0 {COUNTERS}"]
    assert asked == ["qmp_capabilities", "query-blockstats"]
    assert tree.problems == {}


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({"device": "drive-scsi0", "qdev": "scsi0"}, "scsi0"),
        ({"device": "drive-virtio1"}, "virtio1"),
        ({"device": "", "qdev": "/machine/peripheral-anon/device[0]/virtio-backend"}, "device[0]"),
        ({"device": "", "node-name": "#block12"}, None),
        ({"device": 5, "qdev": None}, None),
    ],
)
def test_disk_has_the_name_of_its_device(
    said: dict[str, Any], name: str | None, serve: Serve, tree: HostTree
) -> None:
    serve("/run/vm.qmp", answers({**said, "stats": STATS}))

    lines = GuestDisks().lines("h1", [guest()], tree)

    assert [line.partition(",disk=")[2].partition(" ")[0] for line in lines] == (
        [] if name is None else [name]
    )


def test_latencies_are_of_what_completed_since_the_pass_before(
    serve: Serve, tree: HostTree
) -> None:
    bins = [[100, 0, 0], [100, 4, 0], [100, 4, 0]]

    def answer(command: str) -> list[Any]:
        if command != "query-blockstats":
            return answers()(command)
        histogram = {"boundaries": [1_000_000, 2_000_000], "bins": bins.pop(0)}
        return [{"return": [{**DISK, "stats": {**STATS, "rd_latency_histogram": histogram}}]}]

    serve("/run/vm.qmp", answer)
    disks = GuestDisks()

    lines = [disks.lines("h1", [guest()], tree)[0].partition(COUNTERS)[2] for _ in range(3)]

    # Four requests between 1 and 2 ms: two of four end at 1.5 ms, 3.96 of them at 1.99 ms.
    assert lines == ["", ",rd_latency_p50_ms=1.5,rd_latency_p99_ms=1.99", ""]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda _: [], "did not answer in 0.2 s; another may use it"),
        (lambda _: [b"hello\n"], "answered what is no JSON"),
        (lambda _: [b"[" * 100_000 + b"\n"], "answered what is no JSON"),
        (lambda _: [["QMP"]], "answered what is no object"),
        (lambda _: [{"return": {}}], "is no monitor of the kind QMP"),
        (lambda c: [{"error": {}}] if c else [GREETING], "refused qmp_capabilities"),
        (lambda c: [{"return": {}}] if c else [GREETING], "answered what is no list of disks"),
        (lambda _: [b"x" * 20_000_000], "answered more than 16777216 bytes"),
    ],
    ids=["silent", "text", "deep", "list", "no greeting", "refused", "no disks", "endless"],
)
def test_monitor_that_does_not_answer_is_named_and_left_alone(
    answer: Answer, reason: str, serve: Serve, tree: HostTree
) -> None:
    serve("/run/vm.qmp", answer)
    disks = GuestDisks(limit_s=30 if "bytes" in reason else 0.2)

    assert disks.lines("h1", [guest()], tree) == []

    assert tree.problems == {"/run/vm.qmp": reason}
    tree.problems = {}
    assert disks.lines("h1", [guest()], tree) == []
    assert tree.problems == {}


def test_monitor_is_asked_again_after_its_rest(serve: Serve, tree: HostTree) -> None:
    disks = GuestDisks(limit_s=0.2)
    disks.lines("h1", [guest()], tree)
    assert list(tree.problems) == ["/run/vm.qmp"]
    serve("/run/vm.qmp", answers(DISK))

    passes = [len(disks.lines("h1", [guest()], tree)) for _ in range(REST_PASSES)]

    assert passes == [0] * (REST_PASSES - 1) + [1]


def test_pass_has_a_time_limit_and_who_was_left_out_comes_first(
    serve: Serve, tree: HostTree
) -> None:
    guests = [guest(pid, f"/run/{pid}.qmp", f"vm{pid}") for pid in (1, 2, 3)]
    for one in (2, 3):
        serve(f"/run/{one}.qmp", answers(DISK))
    # The first keeps its client waiting for longer than all of a pass may take.
    serve("/run/1.qmp", lambda _: [])
    disks = GuestDisks(limit_s=0.3, most_s=0.1)

    began = time.monotonic()
    first = disks.lines("h1", guests, tree)
    took_s = time.monotonic() - began
    second = disks.lines("h1", guests, tree)

    assert first == []
    assert took_s < 5
    assert [line.partition("workload=")[2][:6] for line in second] == ["vm/vm2", "vm/vm3"]


@pytest.mark.parametrize(
    ("argv", "monitors"),
    [
        ("-qmp unix:/run/a,server=on,wait=off", ("/run/a",)),
        ("-qmp unix:/run/a,server,nowait", ("/run/a",)),
        ("-qmp unix:/run/a", ()),
        ("-qmp tcp:0:4444,server=on", ()),
        ("-qmp unix:relative,server=on", ()),
        ("-chardev socket,id=q,path=/run/a,server=on,wait=off -mon chardev=q,mode=control", ("/run/a",)),  # noqa: E501
        ("-mon chardev=q,mode=control -chardev socket,id=q,path=/run/a,server=on", ("/run/a",)),
        ("-chardev socket,id=q,path=/run/a,server=on -mon chardev=q,mode=readline", ()),
        ("-chardev socket,id=e,path=/run/e,reconnect=5 -mon chardev=e,mode=control", ()),
        ("-chardev socket,id=m,fd=29,server=on -mon chardev=m,id=monitor,mode=control", ()),
        ("-chardev socket,id=g,path=/run/agent,server=on", ()),
    ],
    ids=[
        "qmp", "older words", "client", "tcp", "relative", "Proxmox", "other order", "for people",
        "reconnects", "libvirt", "guest agent",
    ],
)  # fmt: skip
def test_monitors_are_sockets_on_which_qemu_waits(argv: str, monitors: tuple[str, ...]) -> None:
    assert read_guest(["qemu-system-x86_64", *argv.split(" ")]).monitors == monitors
