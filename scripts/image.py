"""Builds a container image, an OCI layout in a tar, from a Debian's files and a .deb:

    python3 -m scripts.image [--server] [--package FILE] [--base DIRECTORY] [FOLDER]

No container engine is needed, and the same files give the same image, byte for byte. The base is
what `scripts/debian13` obtains; its files keep their owners, so it takes root to read them all.
Beside the image is its bill of materials.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripts.sbom import bill, debian_parts, python_parts

CHECKOUT = Path(__file__).resolve().parents[1]
# Made anew by whoever runs the image, or of this one machine.
EMPTIED = ("dev", "proc", "sys", "run", "tmp", "var/log", "var/cache", "var/tmp", "boot")
OF_THE_MACHINE = (
    ".built",
    "etc/machine-id",
    "etc/hostname",
    "etc/resolv.conf",
    "var/lib/dpkg/lock",
)
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
SERVER_UID = 10001
STATE = "var/lib/sluice"
"""Of the server; a new volume there takes over whose it is."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """What is put into an image: by its package, and how it is started."""

    name: str
    built_by: tuple[str, ...]
    config: Mapping[str, Any]
    users: str = ""
    owners: Mapping[str, int] = field(default_factory=dict)


AGENT = Product(
    name="sluice-enforcer",
    built_by=("scripts/deb",),
    config={
        "Entrypoint": ["/usr/bin/sluice-enforcer"],
        "Cmd": ["run", "--config", "/etc/sluice-enforcer/agent.toml"],
        "StopSignal": "SIGTERM",
    },
)
SERVER = Product(
    name="sluice",
    built_by=(".venv/bin/python", "-m", "scripts.server_deb"),
    config={
        "Entrypoint": ["/usr/lib/sluice/bin/sluice"],
        "Cmd": ["run", "--host", "0.0.0.0", "--no-reader"],  # noqa: S104  the port is the engine's
        "Env": ["PATH=/usr/lib/sluice/bin:/usr/bin:/bin", f"SLUICE_DATA_DIR=/{STATE}"],
        "User": f"{SERVER_UID}:{SERVER_UID}",
        "ExposedPorts": {"8000/tcp": {}},
        "Volumes": {f"/{STATE}": {}},
        "StopSignal": "SIGTERM",
    },
    users=f"sluice:x:{SERVER_UID}:{SERVER_UID}::/{STATE}:/usr/sbin/nologin\n",
    owners={STATE: SERVER_UID},
)


@dataclass(frozen=True, kw_only=True)
class Blob:
    """A part of the image; `unpacked` is the digest of a layer's tar."""

    media: str
    data: bytes
    unpacked: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def described(self) -> dict[str, Any]:
        return {
            "mediaType": self.media,
            "digest": f"sha256:{self.digest}",
            "size": len(self.data),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    cache = os.environ.get("SLUICE_CACHE_DIR", Path.home() / ".cache/sluice")
    parser.add_argument("--base", type=Path, default=Path(cache) / "debian13")
    parser.add_argument("--server", action="store_true", help="the server's, not the agent's")
    parser.add_argument("--package", type=Path, help="the .deb, where it was built already")
    parser.add_argument("folder", type=Path, nargs="?", default=CHECKOUT / "dist")
    chosen = parser.parse_args()
    product = SERVER if chosen.server else AGENT
    if not (chosen.base / "usr").is_dir():
        parser.error(f"there is no Debian in {chosen.base}; scripts/debian13 obtains one")
    with tempfile.TemporaryDirectory() as place:
        package = chosen.package or Path(run(*product.built_by, place).strip())
        version = package.name.split("_")[1]
        made_s = committed_s()
        unpacked = Path(place) / "root"
        run("dpkg-deb", "--extract", str(package), str(unpacked))
        add_users(product, unpacked, chosen.base)
        parts = [*debian_parts(chosen.base)]
        for site in unpacked.glob("usr/lib/*/lib/python3*/site-packages"):
            parts += python_parts(site)
        layers = [
            layer(chosen.base, made_s, is_base=True),
            layer(unpacked, made_s, is_base=False, owners=product.owners),
        ]
    chosen.folder.mkdir(parents=True, exist_ok=True)
    image = chosen.folder / f"{product.name}_{version}_amd64.oci.tar"
    image.write_bytes(layout(layers, made_s, version, product))
    materials = bill(f"{product.name}-image", version, parts, made_s=made_s)
    image.with_suffix(".cdx.json").write_bytes(materials)
    print(image)


def add_users(product: Product, unpacked: Path, base: Path) -> None:
    """What the package's script does on a machine, as files; settings are the engine's."""
    if not product.users:
        return
    shutil.rmtree(unpacked / "etc")
    (unpacked / "etc").mkdir()
    name, _, number, *_ = product.users.split(":")
    for file, line in (("passwd", product.users), ("group", f"{name}:x:{number}:\n")):
        there = base / "etc" / file
        before = there.read_text() if there.is_file() else ""
        (unpacked / "etc" / file).write_text(before + line)
    for folder in product.owners:
        (unpacked / folder).mkdir(mode=0o700, parents=True)


def run(*argv: str) -> str:
    done = subprocess.run(argv, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def committed_s() -> int:
    said = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct")
    return int(said)


def layer(
    root: Path, made_s: int, *, is_base: bool, owners: Mapping[str, int] | None = None
) -> Blob:
    """All files below a folder in the order of their names, none newer than the image."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, compresslevel=6) as compressed,
        Hashed(compressed) as hashed,
        tarfile.open(fileobj=hashed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in files_of(root, is_base=is_base):
            name = str(path.relative_to(root))
            add(
                archive, path, name, made_s, owner=None if is_base else (owners or {}).get(name, 0)
            )
    return Blob(media=LAYER, data=packed.getvalue(), unpacked=hashed.digest)


class Hashed(io.RawIOBase):
    """Writes on, and remembers the digest of what was written."""

    def __init__(self, inner: gzip.GzipFile) -> None:
        self._inner, self._hash = inner, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._hash.update(data)
        return self._inner.write(data)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def files_of(root: Path, *, is_base: bool) -> Iterator[Path]:
    """In one order, a folder before what is in it; of the base without what is of its machine."""
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        is_below = any(inside.is_relative_to(one) and str(inside) != one for one in EMPTIED)
        if not (is_base and (is_below or str(inside) in OF_THE_MACHINE)):
            yield path


def add(
    archive: tarfile.TarFile, path: Path, name: str, made_s: int, *, owner: int | None
) -> None:
    entry = archive.gettarinfo(path, arcname=name)
    if entry is None or stat.S_ISSOCK(path.lstat().st_mode):
        return
    # Which of two names of one file comes first would be all that tells them apart.
    if entry.islnk():
        entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.lstat().st_size
    entry.mtime = min(int(entry.mtime), made_s)
    entry.uname = entry.gname = ""
    if owner is not None:
        entry.uid = entry.gid = owner
    if entry.isreg():
        with path.open("rb") as file:
            archive.addfile(entry, file)
    else:
        archive.addfile(entry)


def layout(layers: list[Blob], made_s: int, version: str, product: Product) -> bytes:
    """The image as its layout (opencontainers/image-spec, image-layout.md)."""
    at = datetime.fromtimestamp(made_s, UTC).isoformat().replace("+00:00", "Z")
    config = written(
        CONFIG,
        {
            "created": at,
            "architecture": "amd64",
            "os": "linux",
            "config": product.config,
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{one.unpacked}" for one in layers],
            },
            "history": [
                {"created": at, "created_by": "scripts/debian13"},
                {"created": at, "created_by": product.built_by[-1]},
            ],
        },
    )
    manifest = written(
        MANIFEST,
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.described,
            "layers": [one.described for one in layers],
            "annotations": {"org.opencontainers.image.version": version},
        },
    )
    name = {"org.opencontainers.image.ref.name": version}
    index = {"schemaVersion": 2, "manifests": [{**manifest.described, "annotations": name}]}
    blobs = {f"blobs/sha256/{one.digest}": one.data for one in (*layers, config, manifest)}
    parts = {
        "oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode(),
        "index.json": json.dumps(index, sort_keys=True).encode(),
        **dict(sorted(blobs.items())),
    }
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in parts.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime = len(data), made_s
            archive.addfile(entry, io.BytesIO(data))
    return tar.getvalue()


def written(media: str, content: dict[str, Any]) -> Blob:
    return Blob(media=media, data=json.dumps(content, sort_keys=True).encode())


if __name__ == "__main__":
    main()
