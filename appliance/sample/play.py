"""`python -m appliance.sample.play FOLDER SOCKET [--until-now]`: send what its hosts would send.

It begins with the last hours, goes on where it ended before, and then sends each window as it
ends. It ends by itself when the server knows its token no longer: the sample was removed.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path

import numpy as np

from appliance.sample.agents import Agents
from appliance.sample.connection import ask
from appliance.sample.counters import WINDOW_S, Counters, Hosts
from appliance.sample.fleet import AGENTS_FILE, STATE_FILE, TOKEN_FILE, UNTIL_NOW
from appliance.sample.story import HOUR_S, Moment, Story

HISTORY_S = 8 * int(HOUR_S)
_ADDRESS = "/api/v2/write?precision=ns"
_WINDOWS_AT_ONCE = 30
_REPORT_EACH_S = 30
_LONGEST_WAIT_S = 30.0
_GONE = (401, 403)
_LATER = (429, 503)


class SampleGone(Exception):
    """The server knows the token no longer."""


class SampleRefused(Exception):
    """The server takes a body never, whatever is waited for."""


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

    def __init__(self, folder: Path, socket_path: str) -> None:
        self._path = folder / STATE_FILE
        self._socket = socket_path
        self._token = (folder / TOKEN_FILE).read_text()
        self._agents = Agents(folder / AGENTS_FILE, socket_path)
        self._state = State.read(self._path, now_s=_window_end(time.time()))
        self._story = Story(self._state.made_at_s)
        self._hosts = Hosts(self._state.counters)

    def play(self) -> None:
        """Send for ever; raises SampleGone."""
        while True:
            self.catch_up()
            if self._state.at_s % _REPORT_EACH_S == 0:
                self.report()
            time.sleep(WINDOW_S - time.time() % WINDOW_S)

    def catch_up(self) -> None:
        """Send all windows that ended."""
        while due := range(self._state.at_s + WINDOW_S, _window_end(time.time()) + 1, WINDOW_S):
            self.send(due[:_WINDOWS_AT_ONCE])

    def report(self) -> None:
        """Let the agents take what they are to hold, and tell how that is."""
        now = datetime.now(tz=UTC)
        moment = self._moment(self._state.at_s)
        self._agents.turn(moment, now, window_s=WINDOW_S)

    def _moment(self, at_s: int) -> Moment:
        divided = self._agents.divided(datetime.fromtimestamp(at_s, tz=UTC))
        return self._story.at(at_s, divided=divided)

    def send(self, ends_s: range) -> None:
        """The windows that end so."""
        bodies: dict[str, list[str]] = defaultdict(list)
        for end_s in ends_s:
            self._hosts.grow(self._moment(end_s))
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
                answer = ask(self._socket, "POST", _ADDRESS, token=self._token, body=body)
            except (OSError, HTTPException):
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            else:
                if answer.status == HTTPStatus.NO_CONTENT:
                    return
                if answer.status in _GONE:
                    raise SampleGone
                if answer.status not in _LATER:
                    raise SampleRefused(f"the server answers {answer.status}")
                wait_s = _asked_wait_s(answer.retry_after) or wait_s
            time.sleep(wait_s)


def _window_end(at_s: float) -> int:
    return int(at_s) // WINDOW_S * WINDOW_S


def _asked_wait_s(said: str | None) -> float | None:
    return min(float(said), _LONGEST_WAIT_S) if said and said.isdigit() else None


def main(folder: str, socket_path: str, *options: str) -> None:
    player = Player(Path(folder), socket_path)
    try:
        player.catch_up()
        if UNTIL_NOW not in options:
            player.play()
    except SampleGone:
        print("the sample was removed; nothing more is sent")


if __name__ == "__main__":
    main(*sys.argv[1:])
