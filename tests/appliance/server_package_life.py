"""The life of the server's package in a Debian 13 without systemd, told as JSON.

It runs inside, by that Debian's own Python, beside `first.deb` and `second.deb`.
"""

import http.client
import json
import pwd
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Inside there is no package of tests: the file lies beside this one.
    from signed_in import log_in, shown_resources  # type: ignore[import-not-found]
else:
    from tests.appliance.signed_in import log_in, shown_resources

HERE = Path(__file__).parent
SAID = HERE / "said"
PORT = 8000
DEADLINE_S = 400.0
# As docs/install.md has it; nothing is fetched, for there is no network.
INSTALL = ("apt", "install", "--yes")
COUNT = (
    "import django;django.setup();from ingest.models import SystemSample, Series;"
    "print(SystemSample.objects.count(), Series.objects.count())"
)


def main() -> None:
    told: dict[str, Any] = {"installed": do(*INSTALL, HERE / "first.deb")}
    told["users"] = [
        name for name in ("sluice", "sluice-signer", "sluice-database") if known(name)
    ]
    told["help"] = do("sluice", "--help").splitlines()[0]
    running = start()
    told["said"] = SAID.read_text()
    told["answers"] = {path: status(path) for path in ("/ping", "/health")}
    told["owners"] = owners()
    told["disks"] = own_disks()
    told["shown"] = shown(SAID.read_text(), told["disks"])
    do("sluice", "organisation", "create", "acme", "--name", "Acme", "--admin", "ann")
    told["before"] = counts()
    stop(running)
    told["upgraded"] = do(*INSTALL, HERE / "second.deb")
    running = start()
    told["organisations"] = [one["slug"] for one in asked("organisation", "list")]
    told["after"] = counts()
    running.kill()
    running.wait()
    running = start()
    told["after the kill"] = status("/health")
    stop(running)
    told["removed"] = do("dpkg", "--remove", "sluice")
    told["purged"] = do("dpkg", "--purge", "sluice")
    told["left"] = [
        path
        for path in (
            "/etc/sluice",
            "/usr/lib/sluice",
            "/usr/bin/sluice",
            "/var/lib/sluice/postgres",
        )
        if Path(path).exists()
    ]
    print(json.dumps(told))


def do(*argv: object) -> str:
    done = subprocess.run(
        [str(one) for one in argv], capture_output=True, text=True, check=False, cwd="/"
    )
    if done.returncode:
        sys.exit(f"{argv}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def asked(*words: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(do("sluice", *words, "--json"))
    return found


def known(name: str) -> bool:
    try:
        return pwd.getpwnam(name).pw_uid < 1000
    except KeyError:
        return False


def start() -> subprocess.Popen[bytes]:
    with SAID.open("wb") as said:
        running = subprocess.Popen(
            ["sluice", "run", f"--port={PORT}"], stdout=said, stderr=said, cwd="/"
        )
    wait(lambda: running.poll() is not None or "Ctrl-C stops" in SAID.read_text(), "readiness")
    if running.poll() is not None:
        sys.exit(SAID.read_text())
    return running


def stop(running: subprocess.Popen[bytes]) -> None:
    running.send_signal(signal.SIGTERM)
    if running.wait(DEADLINE_S) != 0:
        sys.exit(SAID.read_text())


def wait(holds: object, what: str) -> None:
    began = time.monotonic()
    while not holds():  # type: ignore[operator]
        if time.monotonic() - began > DEADLINE_S:
            logs = "".join(path.read_text() for path in Path("/var/lib/sluice/log").glob("*"))
            said = SAID.read_text() if SAID.exists() else ""
            sys.exit(f"{what}: not in {DEADLINE_S} s\n{said}\n{logs[-3000:]}")
        time.sleep(0.5)


def status(path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=20)
    connection.request("GET", path)
    return connection.getresponse().status


def owners() -> dict[str, list[str]]:
    """The users of each kind of process."""
    kinds = {
        "appliance.web_server": "web", "celery": "work", "appliance.signer": "signer",
        "appliance.embedded.fork_server": "fork server",
        "enforcers": "reader", "bin/postgres": "database", "valkey-server": "queue",
        "sluice run": "supervisor",
    }  # fmt: skip
    found: dict[str, set[str]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            uid = int((entry / "status").read_text().split("Uid:")[1].split()[0])
        except OSError:
            continue
        for mark, kind in kinds.items():
            if mark in line:
                found.setdefault(kind, set()).add(pwd.getpwuid(uid).pw_name)
                break
    return {kind: sorted(names) for kind, names in sorted(found.items())}


def own_disks() -> list[str]:
    disks = sorted(path.name for path in Path("/sys/block").glob("[svx]d[a-z]"))
    return [f"{socket.gethostname()}/{disk}" for disk in disks]


def shown(said: str, wanted: list[str]) -> list[str]:
    """What pages show to the person whose password was said, once all that is wanted is there."""
    address = f"http://127.0.0.1:{PORT}"
    browser = log_in(address, said)
    wait(lambda: set(wanted) <= set(shown_resources(browser, address)), f"{wanted} on a page")
    names: list[str] = shown_resources(browser, address)
    return names


def counts() -> list[int]:
    """Stored samples of the machine, and series."""
    said = subprocess.run(
        ["/usr/lib/sluice/bin/python3", "-c", COUNT],
        env={"DJANGO_SETTINGS_MODULE": "config.settings", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    return [int(word) for word in said.stdout.split()]


if __name__ == "__main__":
    main()
