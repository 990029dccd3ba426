"""The server's Debian package and image: built once, installed, upgraded, purged and run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.server_deb import pack
from scripts.server_tree import build_tree, server_version
from tests.enforcers.test_image import Layout
from tests.testbed.programs import debian13

pytestmark = [
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(900),
]

CHECKOUT = Path(__file__).parents[2]
NEWER = "99.0"
# What builds the native part, and what another system or an older Python needs.
NOT_IN_THE_PACKAGE = (
    "maturin", "setuptools", "async-timeout", "brotlicffi", "colorama", "tzdata",
)  # fmt: skip
LIFE = {"server_package_life.py": "life.py", "signed_in.py": "signed_in.py"}
# Its own mounts, network and processes: all that is started ends with the first one.
NAMESPACES = (
    "unshare", "--mount", "--propagation", "private", "--net", "--uts", "--ipc", "--pid", "--fork",
    "--kill-child", "sh", "-ec",
)  # fmt: skip
INSIDE = """
mount -t tmpfs none "$1/layer"
mkdir "$1/layer/upper" "$1/layer/work" "$1/layer/root"
layers="lowerdir=$2,upperdir=$1/layer/upper,workdir=$1/layer/work"
mount -t overlay overlay -o "$layers" "$1/layer/root"
cd "$1/layer/root"
mount -t proc proc proc
mount -t tmpfs none dev
for name in null zero full random urandom; do
    touch dev/$name
    mount --bind /dev/$name dev/$name
done
mkdir dev/shm
mount -t tmpfs none dev/shm
mount --rbind /sys sys
mount -t tmpfs none run
mount -t tmpfs -o mode=1777 none tmp
hostname package
ip link set lo up
mkdir -p root/packages
mount --bind "$1/packages" root/packages
shift 2
exec chroot . "$@"
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, a newer one, and who tells of their life."""
    if not (debian13() / ".built").exists():
        pytest.skip("no Debian 13; make testbed-programs obtains it (package debootstrap)")
    place = tmp_path_factory.mktemp("server")
    (place / "layer").mkdir()
    folder = place / "packages"
    root = place / "root"
    root.mkdir(mode=0o755)
    build_tree(root, base=debian13())
    pack(root, server_version(), folder).rename(folder / "first.deb")
    pack(root, NEWER, folder).rename(folder / "second.deb")
    for name, inside_name in LIFE.items():
        shutil.copyfile(Path(__file__).with_name(name), folder / inside_name)
    return folder


def inside(packages: Path, *argv: str) -> str:
    """What a program says in a Debian 13 that has the folder as /root/packages."""
    done = subprocess.run(
        [*NAMESPACES, INSIDE, "inside", packages.parent, debian13(), *argv],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/root"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def life(packages: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(
        inside(packages, "python3", "/root/packages/life.py").splitlines()[-1]
    )
    return told


def field(package: Path, name: str) -> str:
    argv = ["dpkg-deb", "--field", package, name]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def test_package_says_what_it_is_and_which_python_it_takes(packages: Path) -> None:
    package = packages / "first.deb"

    assert field(package, "Version") == server_version()
    assert field(package, "Architecture") == "amd64"
    assert field(package, "Depends").startswith("python3 (>= 3.13), python3 (<< 3.14), ")


def test_installed_package_has_its_users_and_its_command(life: dict[str, Any]) -> None:
    assert life["users"] == ["sluice", "sluice-signer", "sluice-database"]
    assert life["help"] == "usage: sluice COMMAND [options]"


def test_installed_server_answers_by_users_who_may_do_little(life: dict[str, Any]) -> None:
    assert life["answers"] == {"/ping": 204, "/health": 200}
    assert life["owners"] == {
        "database": ["sluice-database"],
        "queue": ["sluice-database"],
        "reader": ["root"],
        "signer": ["sluice-signer"],
        "supervisor": ["root"],
        "web": ["sluice"],
        "work": ["sluice"],
        "fork server": ["sluice"],
    }
    assert "as root" not in life["said"]
    assert re.search(r"log in as admin with the password \S{16}\n", life["said"])


def test_pages_show_the_disks_of_the_machine(life: dict[str, Any]) -> None:
    assert life["disks"]
    assert set(life["disks"]) <= set(life["shown"])


def test_upgrade_keeps_the_organisation_and_its_samples(life: dict[str, Any]) -> None:
    assert "Unpacking sluice (99.0) over " in life["upgraded"]
    assert life["organisations"] == ["acme", "demo"]
    samples, series = life["before"]
    assert samples > 0
    assert series > 0
    assert life["after"][0] >= samples
    assert life["after"][1] >= series


def test_server_comes_back_after_a_kill_without_a_person(life: dict[str, Any]) -> None:
    assert life["after the kill"] == 200


def test_purge_leaves_the_data_and_says_so(life: dict[str, Any]) -> None:
    assert life["left"] == ["/var/lib/sluice/postgres"]
    assert "left behind: /var/lib/sluice with the database and its keys" in life["purged"]


def test_bill_of_materials_names_every_locked_package(packages: Path) -> None:
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", packages / "first.deb"], stdout=subprocess.PIPE
    ) as tar:
        argv = ["tar", "-xOf", "-", "./usr/share/doc/sluice/sbom.cdx.json"]
        found = json.loads(subprocess.run(argv, stdin=tar.stdout, stdout=-1, check=True).stdout)

    parts = {part["name"]: part["version"] for part in found["components"]}
    # Of two lines of one package the second is that of newer Pythons.
    lock = dict(re.findall(r"(?m)^([\w-]+)==(\S+) ", (CHECKOUT / "requirements.txt").read_text()))
    for name in NOT_IN_THE_PACKAGE:
        del lock[name]
    assert len(lock) > 60
    assert {name: parts.get(name) for name in lock} == lock
    assert parts["sluice"] == server_version()


@pytest.fixture(scope="module")
def image(packages: Path) -> Layout:
    package = packages / f"sluice_{server_version()}_amd64.deb"
    shutil.copyfile(packages / "first.deb", package)
    argv = [sys.executable, "-m", "scripts.image", "--server", "--base", debian13()]
    done = subprocess.run(
        [*argv, "--package", package, packages.parent],
        cwd=CHECKOUT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return Layout(Path(done.stdout.strip()))


def test_image_is_that_package_for_a_user_who_is_not_root(image: Layout) -> None:
    config = image.config["config"]
    files = image.members(1)

    assert config["User"] == "10001:10001"
    assert {one.uid for name, one in files.items() if name != "var/lib/sluice"} == {0}
    assert files["var/lib/sluice"].uid == 10001
    assert config["Entrypoint"][0].lstrip("/") in files


STARTED = """
cd "$1"
chmod 755 .
mount -t proc proc proc
for name in null zero full random urandom; do
    touch dev/$name
    mount --bind /dev/$name dev/$name
done
mkdir dev/shm
mount -t tmpfs none dev/shm
chmod 1777 tmp dev/shm
ip link set lo up
shift
said=$(mktemp)
chroot --userspec=10001:10001 . "$@" >"$said" 2>&1 & main=$!
answer() {
    chroot . curl -s -o /dev/null -w '%{http_code}' -H 'Host: localhost' "http://127.0.0.1:8000$1"
}
until grep -q 'Ctrl-C stops' "$said"; do
    kill -0 $main || { cat "$said"; exit 1; }
    sleep 1
done
echo "ping $(answer /ping), health $(answer /health)"
for status in proc/[0-9]*/status; do
    # The program alone: this shell has the same words among its arguments.
    if tr '\\0' '\\n' <"${status%status}cmdline" | head -n 1 \\
            | grep -qE '^(/usr/lib/sluice|postgres|valkey)'; then
        sed -n 's/^Uid:/uid/p' "$status"
    fi
done | sort -u
kill $main
wait $main
tail -n 1 "$said"
"""


def test_whole_server_runs_in_the_unpacked_image_without_root(
    image: Layout, tmp_path: Path
) -> None:
    image.unpack(tmp_path)
    config = image.config["config"]
    start = ["env", "-i", *config["Env"], *config["Entrypoint"], *config["Cmd"]]

    done = subprocess.run(
        [*NAMESPACES, STARTED, "started", tmp_path, *start],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stdout.splitlines() == [
        "ping 204, health 200",
        "uid\t10001\t10001\t10001\t10001",
        "everything is stopped",
    ], done.stderr
