"""What a host supports: asked without changing it, answered with a reason."""

import json
from pathlib import Path

import pytest

from enforcers import doctor
from enforcers.errors import CommandError
from enforcers.host_fs import HostFs
from enforcers.mechanism import HostAccess
from enforcers.mechanisms.tc_htb.program import LOADER
from enforcers.registry import build_mechanisms
from tests.enforcers.recorded_runner import RecordedRunner

NAMESPACE = "unshare --net tc -batch -"


def host(folder: Path, capabilities: str = "000001ffffffffff") -> HostFs:
    """A host where this process has these capabilities."""
    (folder / "proc/self").mkdir(parents=True)
    (folder / "proc/self/status").write_text(f"Name:\tpython3\nCapEff:\t{capabilities}\n")
    return HostFs(folder)


def refusal(answer: str) -> CommandError:
    return CommandError(("tc",), answer)


def test_htb_is_supported_where_the_kernel_takes_it(tmp_path: Path) -> None:
    runner = RecordedRunner()
    mechanism = build_mechanisms(HostAccess(runner=runner, host_fs=host(tmp_path)), {})["tc_htb"]

    assert mechanism.support().supported
    # Nothing is tried outside a namespace of its own; a program that is loaded is not put in.
    tried = [c for c in runner.commands if not c.endswith(" -V") and c != " ".join(LOADER)]
    assert all(c.startswith("unshare --net ") for c in tried)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"tc -V": refusal("No such file or directory")}, "install iproute2"),
        ({"ip -V": refusal("No such file or directory")}, "install iproute2"),
        ({"unshare": refusal("Operation not permitted")}, "cannot try it out"),
        ({NAMESPACE: refusal("Specified qdisc kind is unknown.")}, "CONFIG_NET_SCH_HTB is off"),
    ],
    ids=["no tc", "no ip", "no namespaces", "no HTB"],
)
def test_htb_that_does_not_work_is_unsupported_with_the_reason(
    tmp_path: Path, answers: dict[str, str | CommandError], reason: str
) -> None:
    access = HostAccess(runner=RecordedRunner(answers), host_fs=host(tmp_path))

    support = build_mechanisms(access, {})["tc_htb"].support()

    assert not support.supported
    assert reason in support.reason


@pytest.mark.parametrize(
    ("missing", "option"),
    [("bfifo", "CONFIG_NET_SCH_FIFO"), ("u32", "CONFIG_NET_CLS_U32")],
)
def test_missing_kernel_option_is_named(tmp_path: Path, missing: str, option: str) -> None:
    class Kernel(RecordedRunner):
        def run(self, argv: object, *, stdin: str = "") -> str:
            if missing in stdin:
                raise refusal("not found")
            return ""

    access = HostAccess(runner=Kernel(), host_fs=host(tmp_path))

    support = build_mechanisms(access, {})["tc_htb"].support()

    assert support.reason.startswith(f"{option} is off in this kernel or its module is missing")


def test_process_without_the_capability_is_told_so(tmp_path: Path) -> None:
    access = HostAccess(
        runner=RecordedRunner(), host_fs=host(tmp_path, capabilities="0000000000000000")
    )

    support = build_mechanisms(access, {})["tc_htb"].support()

    assert not support.supported
    assert "lacks CAP_NET_ADMIN; run it as root" in support.reason


def test_htb_that_did_not_work_is_tried_again_after_a_while(tmp_path: Path) -> None:
    runner = RecordedRunner({NAMESPACE: refusal("Device or resource busy")})
    now_s = 0.0
    access = HostAccess(runner=runner, host_fs=host(tmp_path), clock_s=lambda: now_s)
    mechanism = build_mechanisms(access, {})["tc_htb"]
    first = mechanism.support()
    runner.answers = {}
    tried = len(runner.commands)

    now_s = 9.0
    soon = mechanism.support()
    is_tried_soon = len(runner.commands) > tried
    now_s = 10.0
    later = mechanism.support()

    assert (first.supported, soon.supported, later.supported) == (False, False, True)
    assert not is_tried_soon


def test_htb_that_never_works_is_tried_ever_less_and_one_that_works_is_not_tried_again(
    tmp_path: Path,
) -> None:
    runner = RecordedRunner({NAMESPACE: refusal("Specified qdisc kind is unknown.")})
    now_s = 0.0
    access = HostAccess(runner=runner, host_fs=host(tmp_path), clock_s=lambda: now_s)
    mechanism = build_mechanisms(access, {})["tc_htb"]
    mechanism.support()
    tried_at_s = []
    for now_s in range(1, 1000):
        before = len(runner.commands)
        mechanism.support()
        tried_at_s += [now_s] if len(runner.commands) > before else []
    runner.answers = {}
    now_s = 10_000.0
    works = mechanism.support()
    before = len(runner.commands)
    now_s = 20_000.0
    again = mechanism.support()

    # After 10 s, then twice as long each time, at most five minutes.
    assert tried_at_s == [10, 30, 70, 150, 310, 610, 910]
    assert works.supported
    assert (again, len(runner.commands)) == (works, before)


def test_check_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = doctor.show_host(as_json=False, runner=RecordedRunner(), host_fs=host(tmp_path))

    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert lines[2].split() == ["mechanism", "supported", "reason"]
    assert [line.split()[:2] for line in lines[3:5]] == [["tc_htb", "yes"], ["cgroup_io", "no"]]


def test_check_prints_json_for_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doctor.show_host(as_json=True, runner=RecordedRunner(), host_fs=host(tmp_path))

    answer = json.loads(capsys.readouterr().out)
    assert {item["mechanism"]: item["supported"] for item in answer["mechanisms"]} == {
        "tc_htb": True,
        "cgroup_io": False,
        "qemu_throttle": True,
    }
    assert all(item["reason"] for item in answer["mechanisms"])
