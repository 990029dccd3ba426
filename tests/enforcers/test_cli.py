"""The command: what it prints, how it fails, and that it is the only one."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from enforcers import cli
from enforcers.contract import decode_report, encode_document
from enforcers.ledger import Ledger, LedgerEntry
from enforcers.state_dir import StateDir
from enforcers.version import VERSION
from tests.enforcers.agent_files import write_agent_toml
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import document, vnic
from tests.enforcers.test_contract import REPORT
from tests.enforcers.web_service import WebService, web_service


@pytest.fixture
def service() -> object:
    with web_service() as running:
        yield running


@pytest.fixture
def agent_toml(tmp_path: Path, service: WebService) -> Path:
    """The configuration of host h1 for the running service."""
    return write_agent_toml(tmp_path, service.url, '[tc_htb]\ninterfaces = ["up0"]\n')


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> FakeTc:
    """The kernel that the command finds."""
    kernel = FakeTc("up0", "p1", "p2")
    monkeypatch.setattr("enforcers.assembly.SubprocessRunner", lambda: kernel)
    return kernel


def publish(service: WebService) -> None:
    """Let the service hand out a policy that is valid now."""
    now = datetime.now(UTC)
    given = document(vnic(1, 75e6), issued_at=now, expires_at=now + timedelta(minutes=15))
    service.answer = encode_document(given)


def run(*argv: str | Path) -> int:
    return cli.main([str(item) for item in argv])


@pytest.mark.parametrize("argv", [["version"], ["--version"]], ids=str)
def test_version_is_printed(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = run(*argv)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1

    assert (status, capsys.readouterr().out) == (0, f"{VERSION}\n")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("--help")

    shown = capsys.readouterr().out
    assert all(
        word in shown for word in ("run", "plan", "restore", "status", "version", "--check")
    )


def test_no_command_shows_the_help_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    assert "usage: sluice-enforcer" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "plan", "restore", "status"])
def test_configuration_of_no_use_ends_with_one_clear_line(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(command, "--config", tmp_path / "none.toml")

    shown = capsys.readouterr()
    assert status == 1
    assert shown.err == f"sluice-enforcer: {tmp_path}/none.toml: No such file or directory\n"


def test_plan_shows_the_changes_and_makes_none(
    agent_toml: Path, service: WebService, kernel: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(service)

    status = run("plan", "--config", agent_toml)

    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert lines[0] == "revision 1 from the service"
    assert lines[1] == "up0: up0 root qdisc: qdisc noqueue 0: root -> htb 51ce: default 2"
    assert kernel.commands == []


def test_plan_as_json_has_commands_and_notes(
    agent_toml: Path, service: WebService, kernel: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(service)
    del kernel.devices["p1"]

    status = run("plan", "--config", agent_toml, "--json")

    assert status == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["revision"] == 1
    assert answer["devices"][0]["changes"][0]["write"].startswith("tc qdisc add dev up0 root")
    assert "there is no interface 'p1'" in answer["devices"][0]["notes"]["net-1"]


def test_plan_without_a_policy_says_why(
    agent_toml: Path, service: WebService, kernel: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    service.status = 401

    status = run("plan", "--config", agent_toml)

    assert status == 0
    assert "no policy: GET http://127.0.0.1" in capsys.readouterr().out


def test_plan_of_a_device_that_cannot_be_read_says_why(
    agent_toml: Path, service: WebService, kernel: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(service)
    kernel.refuse = "qdisc show"

    assert run("plan", "--config", agent_toml) == 0
    (_, line) = capsys.readouterr().out.splitlines()
    assert run("plan", "--config", agent_toml, "--json") == 0
    (device,) = json.loads(capsys.readouterr().out)["devices"]

    assert line.startswith("up0: ")
    assert "RTNETLINK answers" in line
    assert device == {
        "device": "up0",
        "error": line.removeprefix("up0: "),
        "changes": [],
        "notes": {},
    }


def test_plan_of_what_was_changed_before_puts_it_back(
    agent_toml: Path, service: WebService, kernel: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    # No policy, and a device that the ledger knows.
    service.status = 401
    state_dir = StateDir(root=agent_toml.parent / "state")
    state_dir.create()
    found = LedgerEntry(
        mechanism="tc_htb", device="up0", thing="root qdisc", found="qdisc noqueue 0: root"
    )
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    Ledger(state_dir.ledger, boot_id=boot_id).record((found,))
    kernel.run(
        ["tc", "qdisc", "add", "dev", "up0", "root", "handle", "51ce:", "htb", "default", "2"]
    )

    assert run("plan", "--config", agent_toml) == 0

    (_, *lines) = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("up0: up0 root qdisc: ")


def test_restore_puts_back_and_forgets(
    agent_toml: Path, kernel: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kernel.text("up0")
    state_dir = StateDir(root=agent_toml.parent / "state")
    state_dir.create()
    found = LedgerEntry(
        mechanism="tc_htb", device="up0", thing="root qdisc", found="qdisc noqueue 0: root"
    )
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    Ledger(state_dir.ledger, boot_id=boot_id).record((found,))
    kernel.run(
        ["tc", "qdisc", "add", "dev", "up0", "root", "handle", "51ce:", "htb", "default", "2"]
    )

    status = run("restore", "--config", agent_toml)

    assert status == 0
    assert capsys.readouterr().out == "as found: up0\n"
    assert kernel.text("up0") == before
    assert Ledger(state_dir.ledger, boot_id=boot_id).entries() == ()


def test_restore_on_a_damaged_ledger_recognises_the_tree_by_its_handle(
    agent_toml: Path, kernel: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    state_dir = StateDir(root=agent_toml.parent / "state")
    state_dir.create()
    state_dir.ledger.write_text('{"boot_id": "x", "entr')
    before = kernel.text("up0")
    kernel.run(
        ["tc", "qdisc", "add", "dev", "up0", "root", "handle", "51ce:", "htb", "default", "2"]
    )

    status = run("restore", "--config", agent_toml)

    assert status == 0
    assert capsys.readouterr().out == "as found: up0\n"
    assert kernel.text("up0") == before
    assert state_dir.ledger.with_name("ledger.json.damaged").exists()


@pytest.mark.parametrize("command", ["run", "restore"])
def test_second_agent_on_one_state_directory_is_refused(
    command: str, agent_toml: Path, kernel: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    with StateDir(root=agent_toml.parent / "state").exclusive():
        status = run(command, "--config", agent_toml)

    assert status == 1
    assert "an agent runs already" in capsys.readouterr().err
    assert kernel.commands == []


def test_status_shows_the_last_report_and_whether_the_agent_runs(
    agent_toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state_dir = StateDir(root=agent_toml.parent / "state")
    state_dir.create()
    state_dir.status.write_text(REPORT)

    status = run("status", "--config", agent_toml)

    shown = capsys.readouterr().out
    assert status == 0
    assert "The agent does not run. Last report 2026-11-20 10:00:30 UTC:" in shown
    assert "revision 7, enforcing\n" in shown
    assert "vm1       uplink0   drifted" in shown


def test_status_as_json_is_the_report(
    agent_toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state_dir = StateDir(root=agent_toml.parent / "state")
    with state_dir.exclusive():
        state_dir.status.write_text(REPORT)
        status = run("status", "--config", agent_toml, "--json")

    assert status == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["running_pid"] > 0
    assert decode_report(json.dumps(answer["report"])) == decode_report(REPORT)


def test_status_and_doctor_tell_of_a_corrected_model(
    agent_toml: Path, kernel: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "sda: capacity 2600 iops, real 1687, corrected in 8 s, taken for 1552 now; "
        "state what it really does\n"
    )
    plain = json.loads(REPORT)
    plain["support"][0]["corrected"] = [
        {
            "device": "sda", "unit": "iops", "stated": 2600.0, "real": 1687.0, "model": 1552.0,
            "after_s": 8.0,
        }
    ]  # fmt: skip
    state_dir = StateDir(root=agent_toml.parent / "state")

    with state_dir.exclusive():
        state_dir.status.write_text(json.dumps(plain))
        run("status", "--config", agent_toml)
        status = capsys.readouterr().out
        run("doctor", "--config", agent_toml)
        doctor = capsys.readouterr().out
    run("doctor", "--config", agent_toml)

    assert words in status
    assert words in doctor
    # What an agent said that is gone is over.
    assert "corrected" not in capsys.readouterr().out


def test_status_says_why_a_policy_was_refused(
    agent_toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state_dir = StateDir(root=agent_toml.parent / "state")
    state_dir.create()
    refused = json.loads(REPORT) | {"refusal": "signature does not fit"}
    state_dir.status.write_text(json.dumps(refused))

    run("status", "--config", agent_toml)

    assert "revision 7, enforcing (signature does not fit)\n" in capsys.readouterr().out


def test_status_before_the_first_report_says_so(
    agent_toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run("status", "--config", agent_toml)

    assert status == 1
    assert "has the agent run yet?" in capsys.readouterr().err


def test_state_directory_is_open_to_its_owner_only(tmp_path: Path) -> None:
    StateDir(root=tmp_path / "a" / "state").create()

    assert (tmp_path / "a" / "state").stat().st_mode & 0o777 == 0o700
