"""The Debian package: built with dpkg-deb alone, and what it holds runs where it is unpacked."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from enforcers.mechanisms.cgroup_io.observed import DEBUG_STATS
from enforcers.mechanisms.tc_htb.program import OBJECT
from enforcers.version import VERSION

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb"),
]

needs_clang = pytest.mark.skipif(shutil.which("clang-19") is None, reason="needs clang-19")
CHECKOUT = Path(__file__).parents[2]
SOURCE = CHECKOUT / "enforcers"


def output(*argv: str | Path) -> str:
    done = subprocess.run(argv, cwd=CHECKOUT, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    return Path(output("scripts/deb", folder).strip())


@pytest.fixture(scope="module")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    output("dpkg-deb", "--extract", package, root)
    return root


def test_package_says_what_it_is_and_needs(package: Path) -> None:
    shown = output("dpkg-deb", "--field", package, "Package", "Version", "Depends")

    assert shown.splitlines() == [
        "Package: sluice-enforcer",
        f"Version: {VERSION}",
        "Depends: python3 (>= 3.11), iproute2, util-linux",
    ]


def test_everything_in_the_package_belongs_to_root_and_only_root_may_write(
    package: Path,
) -> None:
    lines = output("dpkg-deb", "--contents", package).splitlines()

    assert all(line.split()[1] == "root/root" for line in lines)
    assert all(re.match(r"[d-]rw[x-]r-[x-]r-[x-] ", line) for line in lines)


def test_package_has_every_module(unpacked: Path) -> None:
    library = unpacked / "usr/lib/sluice-enforcer/enforcers"

    wanted = {path.relative_to(SOURCE) for path in SOURCE.rglob("*.py")}
    assert {path.relative_to(library) for path in library.rglob("*.py")} == wanted


@needs_clang
def test_package_has_the_program_beside_its_source_and_its_loader(unpacked: Path) -> None:
    folder = unpacked / "usr/lib/sluice-enforcer/enforcers/mechanisms/tc_htb"

    found = {path.name for path in folder.iterdir()}
    assert {OBJECT.name, "classify.bpf.c", "load_classifier.py"} <= found
    assert (folder / OBJECT.name).read_bytes() == OBJECT.read_bytes()


@needs_clang
def test_same_source_gives_the_same_program_without_a_path_of_this_machine(
    package: Path, tmp_path: Path
) -> None:
    output("scripts/bpf", tmp_path)

    again = (tmp_path / OBJECT.name).read_bytes()
    assert again == OBJECT.read_bytes()
    assert str(CHECKOUT).encode() not in again


def test_same_files_give_the_same_package(package: Path, tmp_path: Path) -> None:
    again = Path(output("scripts/deb", tmp_path).strip())

    assert again.read_bytes() == package.read_bytes()


def test_unpacked_command_runs_from_the_package_alone(unpacked: Path, tmp_path: Path) -> None:
    command = tmp_path / "sluice-enforcer"
    text = (unpacked / "usr/bin/sluice-enforcer").read_text()
    library = str(unpacked / "usr/lib/sluice-enforcer")
    command.write_text(text.replace("/usr/lib/sluice-enforcer", library))

    shown = output("python3", "-I", command, "doctor", "--json")

    assert json.loads(shown)["agent_version"] == VERSION


@pytest.mark.parametrize("name", ["postinst", "prerm", "postrm"])
def test_scripts_of_the_package_are_sound_and_end_well_without_systemd(
    package: Path, tmp_path: Path, name: str
) -> None:
    output("dpkg-deb", "--control", package, tmp_path)

    output("sh", "-n", tmp_path / name)

    assert (tmp_path / name).stat().st_mode & 0o777 == 0o755


def unit(name: str) -> dict[str, str]:
    """The settings of a unit; the last of each."""
    lines = (SOURCE / "debian" / name).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")


def test_unit_confines_the_agent() -> None:
    found = unit("sluice-enforcer.service")

    assert found["Type"] == "notify"
    assert found["ProtectSystem"] == "strict"
    assert found["CapabilityBoundingSet"].split() == [
        *("CAP_NET_ADMIN", "CAP_DAC_OVERRIDE", "CAP_BPF", "CAP_PERFMON")
    ]
    assert {"WatchdogSec", "CPUQuota", "MemoryMax", "ExecReload", "ExecStopPost"} <= set(found)


def test_unit_allows_the_metrics_of_the_sample_and_a_port_and_logs_to_the_journal() -> None:
    found = unit("sluice-enforcer.service")
    (listen,) = re.findall(r'(?m)^# listen = "(.+)"$', (SOURCE / "sample.toml").read_text())

    assert listen.startswith(f"/run/{found['RuntimeDirectory']}/")
    assert {"AF_UNIX", "AF_INET", "AF_INET6"} <= set(found["RestrictAddressFamilies"].split())
    assert not {"StandardError", "StandardOutput", "PrivateNetwork"} & set(found)


def test_unit_lets_the_agent_write_what_storage_shares_need() -> None:
    found = unit("sluice-enforcer.service")

    # ProtectKernelTunables makes all of /sys read-only but for cgroups (systemd.exec(5)).
    assert found["ProtectKernelTunables"] == "yes"
    assert found["ProtectControlGroups"] == "no"
    writable = [path.removeprefix("-") for path in found.get("ReadWritePaths", "").split()]
    assert any(Path(DEBUG_STATS).is_relative_to(path) for path in writable)


def test_nothing_of_the_package_looks_at_the_state_while_it_is_put_back_at_its_removal() -> None:
    lines = (SOURCE / "debian/prerm").read_text().splitlines()

    place = {line.strip().removesuffix(" ||"): number for number, line in enumerate(lines)}
    restore = "sluice-enforcer restore --config /etc/sluice-enforcer/agent.toml"
    assert place["systemctl stop sluice-enforcer-dead-man.service"] < place[restore]


def test_dead_man_looks_as_soon_as_there_is_a_configuration_or_a_ledger() -> None:
    lines = (SOURCE / "debian/sluice-enforcer-dead-man.service").read_text().splitlines()

    # One of those with a bar suffices (systemd.unit(5)).
    assert {line for line in lines if line.startswith("Condition")} == {
        "ConditionPathExists=|/etc/sluice-enforcer/agent.toml",
        "ConditionPathExists=|/var/lib/sluice-enforcer/ledger.json",
        "ConditionPathExists=|/var/lib/sluice-enforcer/ledger.copy.json",
        "ConditionPathExistsGlob=|/run/sluice-enforcer/*.lock",
    }


@pytest.mark.parametrize("name", ["sluice-enforcer.service", "sluice-enforcer-dead-man.service"])
def test_every_command_of_a_unit_is_one_of_the_agent(name: str) -> None:
    text = (SOURCE / "debian" / name).read_text()

    commands = re.findall(r"(?m)^Exec\w+=/usr/bin/sluice-enforcer (\w+)", text)
    assert commands
    assert set(commands) <= {"run", "restore"}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_units(unpacked: Path) -> None:
    units = sorted((unpacked / "usr/lib/systemd/system").iterdir())
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True,
        text=True,
        check=False,
    )

    own = [line for line in done.stderr.splitlines() if "sluice-enforcer" in line]
    # The command is not installed on the machine that tests.
    assert [line for line in own if "is not executable" not in line] == []
