"""`python -m appliance.sample.play FOLDER URL [--until-now]`: send what its hosts would send.

It begins with the last hours, goes on where it ended before, and then sends each window as it
ends. It ends by itself when the server knows its token no longer: the sample was removed.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import numpy as np

from appliance.sample.counters import WINDOW_S, Counters, Hosts
from appliance.sample.fleet import STATE_FILE, TOKEN_FILE, UNTIL_NOW
from appliance.sample.story import HOUR_S, Story

HISTORY_S = 8 * int(HOUR_S)
_WINDOWS_AT_ONCE = 30
_TIMEOUT_S = 30.0
_LONGEST_WAIT_S = 30.0
_GONE = (401, 403)
_LATER = (429, 503)


class SampleGone(Exception):
    """The server knows the token no longer."""


@dataclass(slots=True, eq=False)
class State:
    """What the hosts have counted up to `at_s`, seconds since 1970."""

    made_at_s: int
    at_s: int
    counters: Counters

    @classmethod
    def read(cls, path: Path, *, now_s: int) -> State:
        """That of before; without one, hosts that start so long before now."""
        if not path.exists():
            return cls(now_s, now_s - HISTORY_S, Counters.started())
        with np.load(path) as kept:
            made_at_s, at_s = (int(kept[name]) for name in ("made_at_s", "at_s"))
            names = asdict(Counters.started())
            counters = Counters(**{name: kept[name] for name in names})
        return cls(made_at_s, max(at_s, now_s - HISTORY_S), counters)

    def write(self, path: Path) -> None:
        beside = path.with_name(f"part-{path.name}")
        times = {"made_at_s": np.array(self.made_at_s), "at_s": np.array(self.at_s)}
        with beside.open("wb") as file:
            np.savez(file, allow_pickle=False, **times, **asdict(self.counters))
        beside.replace(path)


class Player:
    """Sends to one server; a window is sent until the server has taken it."""

    def __init__(self, folder: Path, url: str) -> None:
        self._path = folder / STATE_FILE
        self._url = f"{url}/api/v2/write?precision=ns"
        self._headers = {"Authorization": f"Token {(folder / TOKEN_FILE).read_text()}"}
        self._state = State.read(self._path, now_s=_window_end(time.time()))
        self._story = Story(self._state.made_at_s)
        self._hosts = Hosts(self._state.counters)

    def play(self) -> None:
        """Send for ever; raises SampleGone."""
        while True:
            self.catch_up()
            time.sleep(WINDOW_S - time.time() % WINDOW_S)

    def catch_up(self) -> None:
        """Send all windows that ended."""
        while due := range(self._state.at_s + WINDOW_S, _window_end(time.time()) + 1, WINDOW_S):
            self.send(due[:_WINDOWS_AT_ONCE])

    def send(self, ends_s: range) -> None:
        """The windows that end so."""
        bodies: dict[str, list[str]] = defaultdict(list)
        for end_s in ends_s:
            self._hosts.grow(self._story.at(end_s))
            for host, lines in self._hosts.lines(end_s).items():
                bodies[host] += lines
        for lines in bodies.values():
            self._post("\n".join(lines).encode())
        self._state.at_s = ends_s[-1]
        self._state.write(self._path)

    def _post(self, body: bytes) -> None:
        wait_s = 1.0
        while True:
            try:
                with urlopen(  # noqa: S310  the product's own address
                    Request(self._url, data=body, headers=self._headers),  # noqa: S310
                    timeout=_TIMEOUT_S,
                ):
                    return
            except HTTPError as error:
                if error.code in _GONE:
                    raise SampleGone from error
                if error.code not in _LATER:
                    raise
                wait_s = _asked_wait_s(error.headers.get("Retry-After")) or wait_s
            except (URLError, HTTPException, OSError):
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            time.sleep(wait_s)


def _window_end(at_s: float) -> int:
    return int(at_s) // WINDOW_S * WINDOW_S


def _asked_wait_s(said: str | None) -> float | None:
    return min(float(said), _LONGEST_WAIT_S) if said and said.isdigit() else None


def main(folder: str, url: str, *options: str) -> None:
    player = Player(Path(folder), url)
    try:
        player.catch_up()
        if UNTIL_NOW not in options:
            player.play()
    except SampleGone:
        print("the sample was removed; nothing more is sent")


if __name__ == "__main__":
    main(*sys.argv[1:])
