"""Programs that talk to the simulated kernel instead of the real one."""

import json
import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

PROGRAMS = ("tc", "ip", "unshare")


def write_programs(folder: Path, kernel_socket: Path) -> None:
    """Write `tc`, `ip` and `unshare` for a process that has `folder` first on its PATH."""
    folder.mkdir()
    for name in PROGRAMS:
        path = folder / name
        path.write_text(
            f"#!{sys.executable}\n"
            "from appliance.demo.simulated_programs import main\n"
            f"main({str(kernel_socket)!r})\n"
        )
        path.chmod(0o755)


def ask(kernel_socket: Path, argv: list[str], *, stdin: str = "") -> tuple[int, str, str]:
    """Ask the simulated kernel; gives exit status, standard output and standard error."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.fspath(kernel_socket))
        connection.sendall(json.dumps({"argv": argv, "stdin": stdin}).encode() + b"\n")
        with connection.makefile() as answers:
            answer = json.loads(answers.readline())
    return answer["status"], answer["printed"], answer["error"]


def main(kernel_socket: str) -> NoReturn:
    argv = [Path(sys.argv[0]).name, *sys.argv[1:]]
    stdin = sys.stdin.read() if "-batch" in argv else ""
    status, printed, error = ask(Path(kernel_socket), argv, stdin=stdin)
    sys.stdout.write(printed)
    sys.stderr.write(error)
    sys.exit(status)
