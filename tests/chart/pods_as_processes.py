"""Pods of the chart as processes of this machine, for there is no cluster here that runs them.

Each container's program gets its own arguments, environment and files, as they were rendered. What
differs: folders lie below one scratch folder, Services are ports of the loopback, the user is that
of the test, and nothing of the kernel's isolation is there.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chart.rendering import Object, Pod

ROOT = Path(__file__).resolve().parents[2]
LOOPBACK = "127.0.0.1"
STOPS_WITHIN_S = 60.0


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What pods find here: files of Secrets by name and key, and where Services are."""

    folder: Path
    secrets: Mapping[str, Mapping[str, str]]
    services: Mapping[str, str]

    def secret(self, name: str, key: str) -> str:
        """The content, with the addresses of Services as they are here."""
        text = self.secrets[name][key]
        for service, address in self.services.items():
            text = text.replace(service, address)
        return text

    def command(self, pod: Pod, container: Object, **replaced: str) -> list[str]:
        """The words of its program; `replaced` are values of arguments such as `port`."""
        python, *words = container["command"]
        assert python == "python3"
        given = [self._placed(pod, container, word) for word in container.get("args", [])]
        changed = [
            f"{name}={replaced[name.strip('-')]}" if name.strip("-") in replaced else word
            for word in given
            for name in [word.partition("=")[0]]
        ]
        return [sys.executable, *words, *changed]

    def environment(self, pod: Pod, container: Object) -> dict[str, str]:
        """Its variables, those of the pod itself among them."""
        own = {"status.podIP": LOOPBACK, "metadata.name": f"{pod.component}-0"}
        found = {"PATH": os.environ["PATH"]}
        for one in container.get("env", []):
            if "value" in one:
                value = one["value"]
                for name, known in found.items():
                    value = value.replace(f"$({name})", known)
                found[one["name"]] = self._placed(pod, container, value)
            else:
                found[one["name"]] = own[one["valueFrom"]["fieldRef"]["fieldPath"]]
        return found

    def lay(self, pod: Pod, container: Object) -> None:
        """Make its folders, and the files of the Secrets that it mounts."""
        volumes = {one["name"]: one for one in pod.template["spec"]["volumes"]}
        for mount in container["volumeMounts"]:
            place = self._place(pod, container, mount)
            place.mkdir(parents=True, exist_ok=True)
            volume = volumes[mount["name"]]
            for source in [volume, *volume.get("projected", {}).get("sources", [])]:
                secret = source.get("secret", {})
                name = secret.get("secretName") or secret.get("name")
                for item in secret.get("items", []):
                    (place / item["path"]).write_text(self.secret(name, item["key"]))

    def _placed(self, pod: Pod, container: Object, text: str) -> str:
        places = {
            mount["mountPath"]: str(self._place(pod, container, mount))
            for mount in container["volumeMounts"]
        }
        paths = "|".join(re.escape(path) for path in sorted(places, key=len, reverse=True))
        text = re.sub(rf"(?<![\w/])({paths})(?![\w-])", lambda found: places[found[1]], text)
        return text.replace("$(POD_NAME)", f"{pod.component}-0")

    def _place(self, pod: Pod, container: Object, mount: Object) -> Path:
        """Folders of a pod are its containers' together, Secrets each one's own."""
        whose = container["name"] if mount.get("readOnly") else "all"
        return self.folder / pod.component / whose / mount["name"]

    @contextmanager
    def running(self, pod: Pod, container: Object, **replaced: str) -> Iterator[Path]:
        """Its program, until the block ends; yields its log."""
        self.lay(pod, container)
        log = self.folder / f"{pod.component}-{container['name']}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                self.command(pod, container, **replaced),
                cwd=ROOT, env=self.environment(pod, container),
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        try:
            yield log
            assert process.poll() is None, log.read_text()[-3000:]
        finally:
            process.terminate()
            try:
                process.wait(STOPS_WITHIN_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def run(self, pod: Pod, container: Object, words: Sequence[str] = ()) -> str:
        """Its program to its end, or these words in it; what it printed."""
        self.lay(pod, container)
        done = subprocess.run(
            list(words) or self.command(pod, container),
            cwd=ROOT, env=self.environment(pod, container),
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
