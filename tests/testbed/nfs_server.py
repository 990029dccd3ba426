"""NFS-Ganesha on the host's loopback: one export that lies in memory."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.testbed.programs import bed_file

EXPORT = "/vmstore"
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib/ganesha", "usr/lib/x86_64-linux-gnu/ganesha")
_CONFIGURATION = """
NFS_CORE_PARAM {{
    Protocols = 4;
    NFS_Port = {port};
    Bind_addr = 127.0.0.1;
    Enable_NLM = false;
    Enable_RQUOTA = false;
    Plugins_Dir = "{plugins}";
}}
NFSv4 {{ Graceless = true; RecoveryRoot = "{folder}"; Minor_Versions = 1, 2; UseGetpwnam = true; }}
EXPORT {{
    Export_Id = 1;
    Path = "{export}";
    Pseudo = "{export}";
    Access_Type = RW;
    Squash = None;
    SecType = sys;
    FSAL {{ Name = MEM; }}
}}
"""


@contextmanager
def nfs_server(folder: Path) -> Iterator[int]:
    """The server's port; its log is `nfs.log` in the folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    tree = bed_file("nfs")
    configuration, log = folder / "nfs.conf", folder / "nfs.log"
    configuration.write_text(
        _CONFIGURATION.format(
            port=port, folder=folder, export=EXPORT, plugins=tree / _LIBRARIES[-1]
        )
    )
    process = subprocess.Popen(
        [
            tree / "usr/bin/ganesha.nfsd", "-F", "-f", configuration, "-L", log,
            "-p", folder / "nfs.pid",
        ],
        env={
            **os.environ,
            "LD_LIBRARY_PATH": ":".join(str(tree / library) for library in _LIBRARIES),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        _wait_until_listening(port, process, log)
        yield port
    finally:
        process.kill()
        process.wait()


def _wait_until_listening(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            said = log.read_text() if log.exists() else "no log"
            assert process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.1)
        else:
            return
