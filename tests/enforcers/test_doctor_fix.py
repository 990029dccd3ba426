"""`doctor --fix` shows files, asks, writes what is agreed to, and changes nothing else."""

import builtins
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from enforcers import cli, doctor
from enforcers.errors import CommandError
from enforcers.fix import MARK, Fix
from enforcers.fixing import NOTHING, ask, offer
from enforcers.host_fs import HostFs
from enforcers.mechanism import HostAccess, KnowsFixes
from enforcers.mechanisms.cgroup_io import fixes as cgroup_fixes
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.tc_htb import fixes as htb_fixes
from enforcers.mechanisms.tc_htb.mechanism import HtbConfig
from enforcers.registry import build_mechanisms
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc, Killed
from tests.enforcers.faults import Fault, Steps, faulty_disk
from tests.enforcers.policies import KEY

FIX = Fix(
    path="/etc/example.d/50-sluice-enforcer.conf",
    lines=("[Manager]", "Example=yes"),
    gives="examples",
    next_steps=("systemctl daemon-reload",),
    undo_steps=("systemctl daemon-reload  # again",),
)
WRITTEN = f"{MARK}\n[Manager]\nExample=yes\n"


@pytest.fixture
def host_fs(tmp_path: Path) -> HostFs:
    return HostFs(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "etc/example.d/50-sluice-enforcer.conf"


def yes(_: str) -> bool:
    return True


def no(_: str) -> bool:
    return False


def test_file_is_shown_before_the_question_and_steps_and_undo_after_it(
    host_fs: HostFs, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []

    def agrees(question: str) -> bool:
        shown.append(capsys.readouterr().out)
        assert not file.exists()
        return question == "Write it?"

    status = offer([FIX], host_fs, agrees=agrees)

    assert (status, file.read_text()) == (0, WRITTEN)
    assert all(text in shown[0] for text in (FIX.path, "Example=yes", "examples"))
    after = capsys.readouterr().out
    assert "To do next:\n    systemctl daemon-reload\n" in after
    assert f"To undo:\n    rm {FIX.path}\n    systemctl daemon-reload  # again\n" in after


def test_file_that_nobody_agrees_to_is_not_written(host_fs: HostFs, tmp_path: Path) -> None:
    assert offer([FIX], host_fs, agrees=no) == 0
    assert list(tmp_path.iterdir()) == []


def test_nobody_to_ask_is_a_refusal_that_shows_the_file(
    host_fs: HostFs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = offer([FIX], host_fs, agrees=None)

    shown = capsys.readouterr()
    assert (status, list(tmp_path.iterdir())) == (1, [])
    assert "Example=yes" in shown.out
    assert "no terminal to ask at" in shown.err


@pytest.mark.parametrize("agrees", [None, yes, no])
def test_nothing_to_fix_is_said(
    host_fs: HostFs, capsys: pytest.CaptureFixture[str], agrees: Callable[[str], bool] | None
) -> None:
    assert offer([], host_fs, agrees=agrees) == 0
    assert capsys.readouterr().out == f"{NOTHING}\n"


@pytest.mark.parametrize("agrees", [None, no, yes])
def test_second_time_nothing_is_written_or_asked_and_the_next_step_is_told(
    host_fs: HostFs,
    file: Path,
    capsys: pytest.CaptureFixture[str],
    agrees: Callable[[str], bool] | None,
) -> None:
    offer([FIX], host_fs, agrees=yes)
    before = file.stat()
    capsys.readouterr()

    status = offer([FIX], host_fs, agrees=agrees)

    assert status == 0
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert "is written already" in capsys.readouterr().out


def test_earlier_file_of_the_command_is_replaced(host_fs: HostFs, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(f"{MARK}\n[Manager]\nExample=no\n")
    questions: list[str] = []

    def agrees(question: str) -> bool:
        questions.append(question)
        return True

    assert offer([FIX], host_fs, agrees=agrees) == 0
    assert questions == [f"Replace the earlier {FIX.path}?"]
    assert file.read_text() == WRITTEN


def make_text(file: Path) -> None:
    file.write_text("[Manager]\nMine=yes\n")


def make_folder(file: Path) -> None:
    file.mkdir()


def make_link(file: Path) -> None:
    elsewhere = file.with_name("elsewhere")
    elsewhere.write_text(f"{MARK}\nold\n")
    file.symlink_to(elsewhere)


def make_dangling_link(file: Path) -> None:
    file.symlink_to("none")


def what_is_there(file: Path) -> tuple[int, ...]:
    """All but when it was read last, which looking at a link changes."""
    seen = file.lstat()
    return seen.st_ino, seen.st_mode, seen.st_uid, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


@pytest.mark.parametrize("make", [make_text, make_folder, make_link, make_dangling_link])
def test_what_somebody_else_has_there_is_left_alone(
    host_fs: HostFs,
    file: Path,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], None],
) -> None:
    file.parent.mkdir(parents=True)
    make(file)
    before = what_is_there(file)

    status = offer([FIX], host_fs, agrees=yes)

    assert status == 1
    assert what_is_there(file) == before
    assert "is somebody else's and is left alone" in capsys.readouterr().err


def test_file_is_readable_by_all_and_writable_by_its_owner_whatever_the_umask(
    host_fs: HostFs, file: Path
) -> None:
    former = os.umask(0o077)
    try:
        offer([FIX], host_fs, agrees=yes)
    finally:
        os.umask(former)

    assert stat.S_IMODE(file.stat().st_mode) == 0o644


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.KILL, Fault.KILL_HALFWAY])
def test_file_is_whole_or_not_there_at_every_fault_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    at = 1
    while True:
        root, steps = tmp_path / str(at), Steps(fault, at)
        with faulty_disk(monkeypatch, steps):
            try:
                status = offer([FIX], HostFs(root), agrees=yes)
            except Killed:
                status = None
        file = root / FIX.path.lstrip("/")
        assert not file.exists() or file.read_text() == WRITTEN
        if not steps.was_reached:
            break
        # A file that is in its place counts, also if its folder could not be synced.
        assert status == (1 if fault is Fault.ERROR else None)
        # What is left of a file in the making is read by nobody.
        assert all(one.name[0] == "." for one in root.rglob("*") if one.is_file() and one != file)
        at += 1
    assert status == 0
    assert at > 3


def test_one_file_that_fails_keeps_no_other_from_being_written(
    host_fs: HostFs, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "blocked").write_text("a file, not a folder")
    blocked = Fix(path="/blocked/x.conf", lines=("x",), gives="y", next_steps=(), undo_steps=())

    assert offer([blocked, FIX], host_fs, agrees=yes) == 1
    assert file.read_text() == WRITTEN


@pytest.mark.parametrize(
    ("answer", "agreed"),
    [("y", True), ("yes", True), (" Y ", True), ("", False), ("n", False), ("yep", False)],
)
def test_only_yes_is_yes(monkeypatch: pytest.MonkeyPatch, answer: str, agreed: bool) -> None:
    monkeypatch.setattr(builtins, "input", lambda _: answer)

    assert ask("Write it?") is agreed


def test_end_of_input_is_no(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(_: str) -> str:
        raise EOFError

    monkeypatch.setattr(builtins, "input", ended)

    assert ask("Write it?") is False


def fixes(mechanism: str, config: object, tc: FakeTc, host_fs: HostFs) -> dict[str, Fix]:
    """What a mechanism offers, by path."""
    asked = build_mechanisms(HostAccess(runner=tc, host_fs=host_fs), {mechanism: config})[
        mechanism
    ]
    assert isinstance(asked, KnowsFixes)
    return {fix.path: fix for fix in asked.fixes()}


@pytest.fixture
def cgroups(tmp_path: Path) -> FakeCgroups:
    """A host with systemd and GRUB whose groups have the io controller."""
    found = FakeCgroups(tmp_path / "root")
    found.put("/run/systemd/system/x", "")
    found.put("/usr/sbin/update-grub", "#!/bin/sh\n")
    found.put("/proc/cmdline", "ro quiet\n")
    for group in ("machine.slice", "user.slice", "mine"):
        found.put(f"{MOUNT}/{group}/cgroup.controllers", "cpu io\n")
        found.put(f"{MOUNT}/{group}/cgroup.subtree_control", "cpu io\n")
        found.put(f"{MOUNT}/{group}/one/cgroup.procs", "")
    return found


SUBTREES = CgroupIoConfig(subtrees=frozenset({"/machine.slice", "/user.slice", "/mine"}))


@pytest.mark.parametrize("control", ["cgroup.controllers", "cgroup.subtree_control"])
def test_units_without_the_io_controller_are_given_it_by_systemd(
    tc: FakeTc, cgroups: FakeCgroups, control: str
) -> None:
    cgroups.put(f"{MOUNT}/user.slice/{control}", "cpu\n")

    (fix,) = fixes("cgroup_io", SUBTREES, tc, cgroups).values()

    assert fix.path == "/etc/systemd/system.conf.d/50-sluice-enforcer.conf"
    assert "[Manager]\nDefaultIOAccounting=yes\n" in fix.text
    assert fix.gives.endswith("for the groups of /user.slice")
    assert fix.next_steps[0] == "systemctl daemon-reload"


def test_group_whose_own_groups_lack_the_controller_is_named_as_an_obstacle(
    tc: FakeTc, cgroups: FakeCgroups
) -> None:
    cgroups.put(f"{MOUNT}/user.slice/cgroup.subtree_control", "cpu\n")
    built = build_mechanisms(HostAccess(runner=tc, host_fs=cgroups), {"cgroup_io": SUBTREES})

    found = built["cgroup_io"].obstacles()  # type: ignore[attr-defined]

    assert found["/machine.slice"] is None
    assert found["/user.slice"].reason == "the io controller is off for the groups in it"
    assert "doctor --fix" in found["/user.slice"].remedy


def all_is_well(cgroups: FakeCgroups) -> None:
    """The fixture itself."""


def group_is_no_unit(cgroups: FakeCgroups) -> None:
    cgroups.put(f"{MOUNT}/mine/cgroup.controllers", "cpu\n")


def group_is_empty(cgroups: FakeCgroups) -> None:
    cgroups.put(f"{MOUNT}/user.slice/cgroup.subtree_control", "\n")
    (cgroups.root / "sys/fs/cgroup/user.slice/one/cgroup.procs").unlink()
    (cgroups.root / "sys/fs/cgroup/user.slice/one").rmdir()


def there_is_no_systemd(cgroups: FakeCgroups) -> None:
    cgroups.put(f"{MOUNT}/user.slice/cgroup.controllers", "cpu\n")
    (cgroups.root / "run/systemd/system/x").unlink()
    (cgroups.root / "run/systemd/system").rmdir()


def kernel_was_told_otherwise(cgroups: FakeCgroups) -> None:
    cgroups.put(f"{MOUNT}/cgroup.controllers", "cpu memory\n")
    cgroups.put("/proc/cmdline", "ro cgroup_disable=io\n")


@pytest.mark.parametrize(
    "make",
    [
        all_is_well,
        group_is_no_unit,
        group_is_empty,
        there_is_no_systemd,
        kernel_was_told_otherwise,
    ],
)
def test_what_no_file_can_mend_has_no_fix(
    tc: FakeTc, cgroups: FakeCgroups, make: Callable[[FakeCgroups], None]
) -> None:
    make(cgroups)

    assert fixes("cgroup_io", SUBTREES, tc, cgroups) == {}


V1 = "cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\n"


@pytest.mark.parametrize("mounts", [V1, "proc /proc proc rw 0 0\n"], ids=["v1", "none"])
def test_host_without_cgroup_v2_gets_a_kernel_parameter(
    tc: FakeTc, cgroups: FakeCgroups, mounts: str
) -> None:
    cgroups.put("/proc/self/mounts", mounts)

    (fix,) = fixes("cgroup_io", SUBTREES, tc, cgroups).values()

    assert fix.path == "/etc/default/grub.d/50-sluice-enforcer.cfg"
    assert fix.text.splitlines()[-1] == (
        'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX systemd.unified_cgroup_hierarchy=1"'
    )
    assert fix.next_steps[0] == "update-grub"


@pytest.mark.parametrize("spoil", ["no grub", "asked for already"])
def test_kernel_parameter_is_not_offered_where_it_would_not_help(
    tc: FakeTc, cgroups: FakeCgroups, spoil: str
) -> None:
    cgroups.put("/proc/self/mounts", V1)
    if spoil == "no grub":
        (cgroups.root / "usr/sbin/update-grub").unlink()
    else:
        cgroups.put("/proc/cmdline", "ro systemd.unified_cgroup_hierarchy=1\n")

    assert fixes("cgroup_io", SUBTREES, tc, cgroups) == {}


MODULES = """kernel/net/sched/sch_htb.ko.xz:
kernel/net/sched/cls_u32.ko.xz:
kernel/net/sched/sch_fq_codel.ko.xz:
kernel/net/sched/sch_hfsc.ko.xz: kernel/net/sched/sch_htb.ko.xz
"""
UPLINK = HtbConfig(interfaces=frozenset({"up0"}))


@pytest.fixture
def modular(tmp_path: Path) -> FakeCgroups:
    """A host whose kernel has HTB as a module and did not load it."""
    found = FakeCgroups(tmp_path / "root")
    found.put("/proc/sys/kernel/osrelease", "6.12.0-1-amd64\n")
    found.put("/lib/modules/6.12.0-1-amd64/modules.dep", MODULES)
    found.put("/sys/module/sch_fq_codel/refcnt", "1\n")
    return found


@pytest.fixture
def without_htb(tc: FakeTc, monkeypatch: pytest.MonkeyPatch) -> FakeTc:
    """A kernel that knows no HTB."""

    def run(argv: Sequence[str], *, stdin: str = "") -> str:
        if "htb" in stdin:
            raise CommandError(argv, "Error: Specified qdisc kind is unknown.")
        return FakeTc.run(tc, argv, stdin=stdin)

    monkeypatch.setattr(tc, "run", run)
    return tc


def test_modules_that_the_kernel_has_and_did_not_load_are_loaded_at_boot(
    without_htb: FakeTc, modular: FakeCgroups
) -> None:
    (fix,) = fixes("tc_htb", UPLINK, without_htb, modular).values()

    assert fix.path == "/etc/modules-load.d/sluice-enforcer.conf"
    assert fix.text.splitlines()[2:] == ["sch_htb", "cls_u32"]
    assert fix.next_steps == ("systemctl restart systemd-modules-load",)


def test_kernel_that_takes_no_more_modules_needs_a_start_that_a_person_makes(
    without_htb: FakeTc, modular: FakeCgroups
) -> None:
    modular.put("/proc/sys/kernel/modules_disabled", "1\n")

    (fix,) = fixes("tc_htb", UPLINK, without_htb, modular).values()

    assert fix.next_steps == (
        "Start this host again when it suits: this kernel takes no module until then.",
    )


def test_module_that_the_kernel_does_not_have_is_not_offered(
    without_htb: FakeTc, modular: FakeCgroups
) -> None:
    modular.put("/lib/modules/6.12.0-1-amd64/modules.dep", "")

    assert fixes("tc_htb", UPLINK, without_htb, modular) == {}


def test_working_kernel_and_missing_program_need_no_module(
    tc: FakeTc, modular: FakeCgroups
) -> None:
    assert fixes("tc_htb", UPLINK, tc, modular) == {}

    tc.is_installed = False
    assert fixes("tc_htb", UPLINK, tc, modular) == {}


UNIT = (Path(htb_fixes.__file__).parents[2] / "debian/sluice-enforcer.service").read_text()
APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"


@pytest.fixture
def packaged(tmp_path: Path) -> FakeCgroups:
    """A host with the package, which forbids user namespaces as Ubuntu does."""
    found = FakeCgroups(tmp_path / "root")
    found.put("/usr/lib/systemd/system/sluice-enforcer.service", UNIT)
    found.put(APPARMOR, "1\n")
    return found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (APPARMOR, "1"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ("/proc/sys/user/max_user_namespaces", "0"),
    ],
)
def test_unit_of_the_package_is_given_the_right_to_try_htb_out(
    tc: FakeTc, packaged: FakeCgroups, path: str, value: str
) -> None:
    packaged.put(APPARMOR, "0\n")
    assert fixes("tc_htb", UPLINK, tc, packaged) == {}

    packaged.put(path, f"{value}\n")

    (fix,) = fixes("tc_htb", UPLINK, tc, packaged).values()
    assert fix.path == "/etc/systemd/system/sluice-enforcer.service.d/50-try-out.conf"
    assert fix.text.endswith("[Service]\nCapabilityBoundingSet=CAP_SYS_ADMIN\n")
    # The agent hands over to itself, with everything in force.
    assert fix.next_steps[1].endswith("--signal=SIGUSR1 sluice-enforcer")


def unit_is_not_there(packaged: FakeCgroups) -> None:
    (packaged.root / "usr/lib/systemd/system/sluice-enforcer.service").unlink()


def unit_of_the_operator_is_unbounded(packaged: FakeCgroups) -> None:
    packaged.put("/etc/systemd/system/sluice-enforcer.service", "[Service]\nType=notify\n")


def unit_of_the_operator_has_it(packaged: FakeCgroups) -> None:
    text = "[Service]\nCapabilityBoundingSet=CAP_NET_ADMIN\nCapabilityBoundingSet=CAP_SYS_ADMIN\n"
    packaged.put("/etc/systemd/system/sluice-enforcer.service", text)


@pytest.mark.parametrize(
    "make", [unit_is_not_there, unit_of_the_operator_is_unbounded, unit_of_the_operator_has_it]
)
def test_unit_that_may_try_out_or_is_not_there_needs_nothing(
    tc: FakeTc, packaged: FakeCgroups, make: Callable[[FakeCgroups], None]
) -> None:
    make(packaged)

    assert fixes("tc_htb", UPLINK, tc, packaged) == {}


def test_unit_needs_nothing_without_interfaces_to_enforce_on(
    tc: FakeTc, packaged: FakeCgroups
) -> None:
    assert fixes("tc_htb", HtbConfig(), tc, packaged) == {}


@pytest.fixture
def agent_toml(tmp_path: Path) -> Path:
    for name, secret in (("token", b"sluice-token-0001"), ("signing-key", KEY)):
        (tmp_path / name).write_bytes(secret)
        (tmp_path / name).chmod(0o600)
    file = tmp_path / "agent.toml"
    file.write_text(
        '[agent]\nhost = "h1"\nstate_dir = "state"\n[server]\nurl = "http://127.0.0.1:9"\n'
        'token_file = "token"\nsigning_key_file = "signing-key"\n'
        '[cgroup_io]\nsubtrees = ["/user.slice"]\n'
    )
    return file


@pytest.fixture
def lacking(cgroups: FakeCgroups, tc: FakeTc, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a host where one file is missing; its place is given."""
    cgroups.put(f"{MOUNT}/user.slice/cgroup.controllers", "cpu\n")
    monkeypatch.setattr(doctor, "HostFs", lambda: cgroups)
    monkeypatch.setattr(doctor, "SubprocessRunner", lambda: tc)
    return cgroups.root / cgroup_fixes.ACCOUNTING_FILE.lstrip("/")


def test_command_without_a_terminal_refuses_and_with_yes_writes_once(
    agent_toml: Path, lacking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["doctor", "--fix", "--config", str(agent_toml)]

    assert cli.main(command) == 1
    assert not lacking.exists()
    assert "no terminal" in capsys.readouterr().err

    assert cli.main([*command, "--yes"]) == 0
    assert "DefaultIOAccounting=yes" in lacking.read_text()
    assert not (agent_toml.parent / "state").exists()

    assert cli.main([*command, "--yes"]) == 0
    assert "is written already" in capsys.readouterr().out


@pytest.mark.parametrize(("answer", "is_written"), [("y", True), ("n", False)])
def test_command_at_a_terminal_asks(
    agent_toml: Path,
    lacking: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    is_written: bool,
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(builtins, "input", lambda _: answer)

    assert cli.main(["doctor", "--fix", "--config", str(agent_toml)]) == 0
    assert lacking.exists() is is_written


def test_host_that_is_not_enrolled_can_be_fixed(
    lacking: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli, "DEFAULT_CONFIG", str(tmp_path / "none.toml"))

    assert cli.main(["doctor", "--fix"]) == 0
    assert capsys.readouterr().out == f"{NOTHING}\n"


@pytest.mark.parametrize(
    ("options", "rule"),
    [(["--yes"], "--yes needs --fix"), (["--fix", "--json"], "prints no JSON")],
)
def test_options_that_make_no_sense_together_are_refused(
    capsys: pytest.CaptureFixture[str], options: list[str], rule: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["doctor", *options])

    assert ended.value.code == 2
    assert rule in capsys.readouterr().err
