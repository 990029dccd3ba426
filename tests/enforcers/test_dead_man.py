"""`restore --if-over`: acts only when the agent is gone and its lease is over."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from enforcers import cli, dead_man
from enforcers.clocks import Moment, clocks_of
from enforcers.contract import Allocation
from enforcers.device_locks import DeviceLocks
from enforcers.host_fs import HostFs
from enforcers.lease import begin
from enforcers.ledger import Ledger, LedgerEntry, copy_of
from enforcers.policy_store import HeldPolicy, PolicyStore
from enforcers.state_dir import StateDir
from tests.enforcers.fake_cgroups import FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.faults import Fault, Steps, faulty_disk
from tests.enforcers.policies import KEY, document, vnic


@pytest.fixture
def agent_toml(tmp_path: Path) -> Path:
    for name, secret in (("token", b"sluice-token-0001"), ("signing-key", KEY)):
        (tmp_path / name).write_bytes(secret)
        (tmp_path / name).chmod(0o600)
    file = tmp_path / "agent.toml"
    file.write_text(
        '[agent]\nhost = "h1"\nstate_dir = "state"\n[server]\nurl = "http://127.0.0.1:9"\n'
        'token_file = "token"\nsigning_key_file = "signing-key"\n'
        '[tc_htb]\ninterfaces = ["up0"]\n'
    )
    return file


@pytest.fixture
def state_dir(agent_toml: Path) -> StateDir:
    found = StateDir(root=agent_toml.parent / "state")
    found.create()
    return found


@pytest.fixture
def left(state_dir: StateDir, monkeypatch: pytest.MonkeyPatch) -> FakeTc:
    """A kernel as an agent left it that was killed."""
    kernel = FakeTc("up0", "p1")
    monkeypatch.setattr("enforcers.assembly.SubprocessRunner", lambda: kernel)
    kernel.run(
        ["tc", "qdisc", "add", "dev", "up0", "root", "handle", "51ce:", "htb", "default", "2"]
    )
    found = LedgerEntry(mechanism="tc_htb", device="up0", thing="root qdisc", found="noqueue")
    Ledger(state_dir.ledger, boot_id=clocks_of(HostFs()).boot_id).record((found,))
    return kernel


def hold(
    state_dir: StateDir, *allocations: Allocation, left_s: float, is_dry: bool = False
) -> None:
    """Hold a policy whose lease ends so many seconds from now, by the time since boot alone.

    A dry run is held beside the policy that was in force before.
    """
    moment = clocks_of(HostFs()).moment()
    now = datetime.now(UTC)
    held = document(
        *(allocations or (vnic(1),)),
        issued_at=now,
        expires_at=now + timedelta(days=2),
        dry_run=is_dry,
    )
    begun = Moment(now=now, boot_id=moment.boot_id, boot_s=moment.boot_s + left_s - 86_400.0)
    policy = HeldPolicy(document=held, lease=begin(now + timedelta(days=1), begun))
    store = PolicyStore(state_dir.policy, key=KEY, moment=moment)
    store.keep_latest(policy)
    if not is_dry:
        store.keep_enforced(policy)


def restore_if_over(agent_toml: Path) -> int:
    return cli.main(["restore", "--if-over", "--config", str(agent_toml)])


def is_left(kernel: FakeTc) -> bool:
    return kernel.devices["up0"].htb is not None


@pytest.mark.parametrize(("left_s", "stays"), [(3600.0, True), (-1.0, False)])
def test_lease_decides_when_the_agent_is_gone(
    agent_toml: Path, state_dir: StateDir, left: FakeTc, left_s: float, stays: bool
) -> None:
    hold(state_dir, left_s=left_s)

    status = restore_if_over(agent_toml)

    assert status == 0
    assert is_left(left) is stays


@pytest.mark.parametrize(("left_s", "stays"), [(3600.0, True), (-1.0, False)])
def test_dry_run_does_not_outlast_the_lease_of_what_is_in_the_kernel(
    agent_toml: Path, state_dir: StateDir, left: FakeTc, left_s: float, stays: bool
) -> None:
    hold(state_dir, left_s=left_s)
    hold(state_dir, left_s=7200.0, is_dry=True)

    status = restore_if_over(agent_toml)

    assert status == 0
    assert is_left(left) is stays


def test_agent_that_only_rehearses_does_not_outlast_that_lease_either(
    agent_toml: Path, state_dir: StateDir, left: FakeTc
) -> None:
    agent_toml.write_text(agent_toml.read_text().replace("[server]", "dry_run = true\n[server]"))
    hold(state_dir, left_s=7200.0)
    moment = clocks_of(HostFs()).moment()
    store = PolicyStore(state_dir.policy, key=KEY, moment=moment)
    assert store.latest is not None
    over = replace(store.latest.lease, ends_at_boot_s=moment.boot_s - 1.0)
    store.keep_enforced(None)
    store.keep_enforced(replace(store.latest, lease=over))

    assert restore_if_over(agent_toml) == 0
    assert not is_left(left)


def test_policy_of_no_use_counts_as_over(
    agent_toml: Path, state_dir: StateDir, left: FakeTc
) -> None:
    state_dir.policy.write_text("{")

    assert restore_if_over(agent_toml) == 0
    assert not is_left(left)


def test_lost_ledger_beside_a_damaged_policy_needs_a_person(
    agent_toml: Path,
    state_dir: StateDir,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A limit of io.max carries no mark, and no file tells any more whose it is.
    cgroups = FakeCgroups(agent_toml.parent / "root", iocost=False)
    cgroups.add_group("/machine.slice/a", io_max="8:0 rbps=max wbps=max riops=500 wiops=max\n")
    monkeypatch.setattr("enforcers.assembly.SubprocessRunner", FakeTc)
    monkeypatch.setattr("enforcers.assembly.HostFs", lambda: cgroups)
    with agent_toml.open("a") as file:
        file.write('[cgroup_io]\nsubtrees = ["/machine.slice"]\ndevices = ["8:0"]\n')
    state_dir.policy.write_text("{")

    assert restore_if_over(agent_toml) == 1
    assert "/machine.slice/a io.max of 8:0; to put it to the kernel's default" in (
        capsys.readouterr().err
    )


def test_policy_stays_held_so_that_no_older_one_is_taken(
    agent_toml: Path, state_dir: StateDir, left: FakeTc
) -> None:
    hold(state_dir, left_s=-1.0)

    restore_if_over(agent_toml)

    moment = clocks_of(HostFs()).moment()
    assert PolicyStore(state_dir.policy, key=KEY, moment=moment).latest is not None
    assert not is_left(left)


@pytest.mark.parametrize("is_configured", [True, False], ids=["configured", "by the ledger"])
@pytest.mark.parametrize(("refuse", "stays"), [(None, False), ("qdisc del", True)], ids=str)
def test_restored_policy_counts_as_in_force_no_more(
    *,
    agent_toml: Path,
    state_dir: StateDir,
    left: FakeTc,
    monkeypatch: pytest.MonkeyPatch,
    refuse: str | None,
    stays: bool,
    is_configured: bool,
) -> None:
    # Else the agent would go back to it when a change fails, long after its lease.
    monkeypatch.setattr(dead_man, "DEFAULT_STATE_DIR", str(state_dir.root))
    hold(state_dir, left_s=-1.0)
    left.refuse = refuse
    if not is_configured:
        without_config(agent_toml, "missing")

    restore_if_over(agent_toml)

    moment = clocks_of(HostFs()).moment()
    store = PolicyStore(state_dir.policy, key=KEY, moment=moment)
    assert (store.enforced is not None) is stays
    assert store.latest is not None


def test_agent_that_runs_is_left_alone(
    agent_toml: Path, state_dir: StateDir, left: FakeTc
) -> None:
    hold(state_dir, left_s=-1.0)

    with state_dir.exclusive():
        status = restore_if_over(agent_toml)

    assert status == 0
    assert is_left(left)


def test_host_that_never_had_an_agent_is_left_alone(agent_toml: Path) -> None:
    assert restore_if_over(agent_toml) == 0
    assert not (agent_toml.parent / "state").exists()


@pytest.mark.parametrize("argv", [["--if-over"], [], ["--force"]], ids=str)
def test_full_disk_keeps_nothing_from_being_put_back(
    agent_toml: Path,
    left: FakeTc,
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
) -> None:
    steps = Steps(Fault.FULL_DISK, 1)

    with faulty_disk(monkeypatch, steps):
        status = cli.main(["restore", *argv, "--config", str(agent_toml)])

    assert not is_left(left)
    # The ledger could not be told, so the next attempt has to look again.
    assert status == 1
    assert cli.main(["restore", *argv, "--config", str(agent_toml)]) == 0


def test_restore_that_fails_is_told(
    agent_toml: Path, state_dir: StateDir, left: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    hold(state_dir, left_s=-1.0)
    left.refuse = "qdisc del"

    assert restore_if_over(agent_toml) == 1
    assert "up0 is not as it was found" in capsys.readouterr().err


def without_config(agent_toml: Path, how: str) -> None:
    match how:
        case "missing":
            agent_toml.unlink()
        case "not TOML":
            agent_toml.write_text("[agent\n")
        case "emptied":
            agent_toml.write_text("")
        case "no signing key":
            (agent_toml.parent / "signing-key").unlink()


@pytest.mark.parametrize("how", ["missing", "not TOML", "emptied", "no signing key"])
@pytest.mark.parametrize(("left_s", "stays"), [(3600.0, True), (-1.0, False)])
def test_lease_decides_without_a_configuration_too(
    *,
    agent_toml: Path,
    state_dir: StateDir,
    left: FakeTc,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    left_s: float,
    stays: bool,
) -> None:
    monkeypatch.setattr(dead_man, "DEFAULT_STATE_DIR", str(state_dir.root))
    hold(state_dir, left_s=left_s)
    without_config(agent_toml, how)

    status = restore_if_over(agent_toml)

    assert status == 0
    assert is_left(left) is stays


def test_state_directory_is_the_one_that_a_configuration_of_no_use_names(
    agent_toml: Path, state_dir: StateDir, left: FakeTc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_man, "DEFAULT_STATE_DIR", str(agent_toml.parent / "other"))
    hold(state_dir, left_s=-1.0)
    without_config(agent_toml, "no signing key")

    assert restore_if_over(agent_toml) == 0
    assert not is_left(left)


def test_state_directory_is_found_by_the_locks_of_its_agent(
    agent_toml: Path, state_dir: StateDir, left: FakeTc, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = agent_toml.parent / "run"
    monkeypatch.setattr(dead_man, "DEFAULT_STATE_DIR", str(agent_toml.parent / "other"))
    monkeypatch.setattr(dead_man, "RUN_DIR", run_dir)
    locks = DeviceLocks(run_dir, HostFs(), owner=state_dir.root)
    locks.hold(("tc_htb", "up0"))
    locks.close()
    hold(state_dir, left_s=-1.0)
    without_config(agent_toml, "missing")

    assert restore_if_over(agent_toml) == 0
    assert not is_left(left)


def test_missing_configuration_is_told_where_no_state_is_found(
    agent_toml: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dead_man, "DEFAULT_STATE_DIR", str(agent_toml.parent / "other"))
    monkeypatch.setattr(dead_man, "RUN_DIR", agent_toml.parent / "run")
    without_config(agent_toml, "missing")

    assert restore_if_over(agent_toml) == 1
    assert "agent.toml: No such file" in capsys.readouterr().err


def test_lost_ledger_stays_lost_without_a_configuration(
    agent_toml: Path,
    state_dir: StateDir,
    left: FakeTc,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Which limits may be the agent's only the configuration says.
    monkeypatch.setattr(dead_man, "DEFAULT_STATE_DIR", str(state_dir.root))
    for file in (state_dir.ledger, copy_of(state_dir.ledger)):
        file.write_text("{")
    without_config(agent_toml, "missing")

    assert restore_if_over(agent_toml) == 1
    assert "sluice-enforcer restore" in capsys.readouterr().err
    # Its tree carries its mark.
    assert not is_left(left)
    assert Ledger(state_dir.ledger, boot_id=clocks_of(HostFs()).boot_id).lost is not None
