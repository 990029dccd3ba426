"""Lets a node join by a line of *Connect a host*, unless it has keys already.

Asks the server as web/installer/install.sh does, and writes what it answers for this host.
"""

from __future__ import annotations

import io
import os
import platform
import ssl
import sys
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

OWN = "etc/"
CONFIGURATION = "agent.toml"
NO_HARDWARE = ("loop", "ram", "zram", "sr", "fd")
TIMEOUT_S = 120


def main(environ: Mapping[str, str] = os.environ) -> int:
    """Write /etc/sluice-enforcer; 0 if it is there."""
    target = Path(environ["SLUICE_ETC"])
    if (target / CONFIGURATION).exists():
        print(f"join: {target / CONFIGURATION} is there, so this node has joined")
        return 0
    ca = environ.get("SLUICE_CA_FILE", "")
    line = Path(environ["SLUICE_JOIN_FILE"]).read_text().strip()
    try:
        answer = asked(f"{environ['SLUICE_URL']}/join/{line}", about(environ, has_ca=bool(ca)), ca)
    except HTTPError as error:
        print(f"join: refused: {error.read(1000).decode(errors='replace')}", file=sys.stderr)
        return 1
    except (URLError, OSError) as error:
        print(f"join: {environ['SLUICE_URL']} did not answer: {error}", file=sys.stderr)
        return 1
    write(own_files(answer), target, ca)
    print(f"join: {environ['SLUICE_HOST']} has joined")
    return 0


def about(environ: Mapping[str, str], *, has_ca: bool) -> dict[str, str]:
    """What the server wants to know of this node."""
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    subtrees = ("kubepods.slice", "kubepods", "system.slice", "machine.slice")
    return {
        "host": environ["SLUICE_HOST"],
        "clock": str(int(time.time())),
        "runs": "service",
        "collects": "reader",
        "system": system,
        "kernel": platform.release(),
        "cgroups": "v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "v1",
        "interfaces": environ.get("SLUICE_INTERFACES") or " ".join(hardware("/sys/class/net")),
        "disks": environ.get("SLUICE_DISKS") or " ".join(hardware("/sys/block")),
        "subtrees": " ".join(
            f"/{one}" for one in subtrees if Path("/sys/fs/cgroup", one).is_dir()
        ),
        "ca_file": "yes" if has_ca else "",
    }


def hardware(folder: str) -> list[str]:
    """What has a device behind it, by name."""
    return sorted(
        one.name
        for one in Path(folder).iterdir()
        if (one / "device").exists() and not one.name.startswith(NO_HARDWARE)
    )


def asked(url: str, fields: Mapping[str, str], ca: str) -> bytes:
    """The archive that the server answers. Raises HTTPError, URLError and OSError."""
    request = Request(url, data=urlencode(fields).encode())  # noqa: S310  the schema of values says http
    trust = ssl.create_default_context(cafile=ca or None)
    with urlopen(request, timeout=TIMEOUT_S, context=trust) as answer:  # noqa: S310
        archive: bytes = answer.read()
    return archive


def own_files(archive: bytes) -> dict[str, bytes]:
    """Configuration and keys of this host, by name."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        found = {}
        for one in files.getmembers():
            name = one.name.removeprefix(OWN)
            content = files.extractfile(one)
            if one.name.startswith(OWN) and "/" not in name and content is not None:
                found[name] = content.read()
        return found


def write(files: Mapping[str, bytes], target: Path, ca: str) -> None:
    """The configuration comes last: where it is, all is."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    others = {"ca.pem": Path(ca).read_bytes()} if ca else {}
    for name, content in {**others, **files}.items():
        if name != CONFIGURATION:
            write_whole(target / name, content)
    write_whole(target / CONFIGURATION, files[CONFIGURATION])


def write_whole(path: Path, content: bytes) -> None:
    """For its owner alone, whole or not at all."""
    draft = path.with_name(f"{path.name}.new")
    draft.touch(mode=0o600)
    draft.write_bytes(content)
    draft.rename(path)


if __name__ == "__main__":
    sys.exit(main())
