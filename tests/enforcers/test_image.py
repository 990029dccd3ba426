"""The container image: an OCI layout that is built without an engine, and runs where unpacked."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from enforcers.version import VERSION
from tests.testbed.programs import debian13

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb"),
]

CHECKOUT = Path(__file__).parents[2]


def build(base: Path, folder: Path) -> Path:
    argv = [sys.executable, "-m", "scripts.image", "--base", base, folder]
    done = subprocess.run(argv, cwd=CHECKOUT, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few files as those of a Debian."""
    root = tmp_path_factory.mktemp("base")
    for name in ("usr/bin/tool", "etc/machine-id", "var/log/boot.log", "proc/1/stat", ".built"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}\n")
    (root / "bin").symlink_to("usr/bin")
    (root / "usr/bin/again").hardlink_to(root / "usr/bin/tool")
    return root


@pytest.fixture(scope="module")
def image(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(base, tmp_path_factory.mktemp("image"))


class Layout:
    """What is in an image, by the digests that lead to it."""

    def __init__(self, image: Path) -> None:
        with tarfile.open(image) as archive:
            self.files = {
                one.name: archive.extractfile(one).read()  # type: ignore[union-attr]  # all are files
                for one in archive.getmembers()
            }
        (described,) = json.loads(self.files["index.json"])["manifests"]
        self.manifest: dict[str, Any] = json.loads(self.blob(described))
        self.config: dict[str, Any] = json.loads(self.blob(self.manifest["config"]))
        self.layers = [self.blob(one) for one in self.manifest["layers"]]

    def blob(self, described: dict[str, Any]) -> bytes:
        """Checked as an engine does."""
        kind, digest = described["digest"].split(":")
        data = self.files[f"blobs/{kind}/{digest}"]
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (digest, described["size"])
        return data

    def members(self, layer: int) -> dict[str, tarfile.TarInfo]:
        with tarfile.open(fileobj=io.BytesIO(self.layers[layer])) as archive:
            return {one.name: one for one in archive.getmembers()}

    def unpack(self, root: Path) -> None:
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                archive.extractall(root, filter="fully_trusted")


def test_layout_has_all_that_its_digests_name(image: Path) -> None:
    layout = Layout(image)

    assert json.loads(layout.files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    assert layout.config["rootfs"]["diff_ids"] == [
        f"sha256:{hashlib.sha256(gzip.decompress(layer)).hexdigest()}" for layer in layout.layers
    ]
    assert layout.config["config"]["Entrypoint"] == ["/usr/bin/sluice-enforcer"]
    named = {one["digest"] for one in layout.manifest["layers"]}
    assert len(layout.files) == 2 + len(named) + 2
    assert image.name == f"sluice-enforcer_{VERSION}_amd64.oci.tar"


def test_same_files_give_the_same_image(image: Path, base: Path, tmp_path: Path) -> None:
    again = build(base, tmp_path)

    assert again.read_bytes() == image.read_bytes()


def test_what_belongs_to_a_machine_is_left_out(image: Path) -> None:
    members = Layout(image).members(0)

    assert set(members) == {
        "bin", "etc", "proc", "usr", "usr/bin", "usr/bin/again", "usr/bin/tool", "var", "var/log",
    }  # fmt: skip
    assert members["bin"].linkname == "usr/bin"


def test_package_is_the_second_layer_and_belongs_to_root(image: Path) -> None:
    members = Layout(image).members(1)

    assert members["usr/bin/sluice-enforcer"].mode == 0o755
    assert "usr/lib/sluice-enforcer/enforcers/cli.py" in members
    assert {(one.uid, one.gid) for one in members.values()} == {(0, 0)}


@pytest.mark.root
@pytest.mark.guests
@pytest.mark.timeout(600)
def test_agent_runs_in_the_unpacked_image(tmp_path: Path) -> None:
    if not (debian13() / ".built").exists():
        pytest.skip("no Debian 13; make testbed-programs obtains it (package debootstrap)")
    root = tmp_path / "root"
    root.mkdir()
    Layout(build(debian13(), tmp_path / "image")).unpack(root)
    (root / "agent.toml").write_text(
        '[agent]\nhost = "h1"\nstate_dir = "state"\n[server]\nurl = "http://127.0.0.1:9"\n'
        'token_file = "token"\nsigning_key_file = "signing-key"\n[tc_htb]\ninterfaces = ["lo9"]\n'
    )
    for name in ("token", "signing-key"):
        (root / name).write_text("0123456789abcdef" * 2)
        (root / name).chmod(0o600)

    def said(*words: str) -> str:
        argv = ["unshare", "--net", "chroot", root, "/usr/bin/sluice-enforcer", *words]
        done = subprocess.run(argv, check=False, capture_output=True, text=True)
        return done.stdout + done.stderr

    assert said("--version").strip().endswith(VERSION)
    assert said("--help").startswith("usage: sluice-enforcer")
    # A look at the kernel from inside, with the iproute2 of the image.
    doctor = said("doctor", "--config", "/agent.toml")
    assert "tc_htb" in doctor
    assert "there is no such interface" in doctor
