"""The way between a host and the service: late, lost, cut off, doubled, out of a cache, or cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from enum import StrEnum
from typing import Protocol

from appliance.simulation.agenda import Agenda
from appliance.simulation.trail import Trail
from enforcers.errors import ServerError
from enforcers.http_exchange import Answer

TIMEOUT_S = 10.0
"""After so long a host waits for no answer any more."""
USUAL_S = 0.2


class Trouble(StrEnum):
    """What can become of one question."""

    LOST = "question lost"
    CUT = "answer cut off"
    LATE_QUESTION = "question late"
    LATE_ANSWER = "answer late"
    DOUBLED = "question doubled"
    CACHED = "answer out of a cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a host sends."""

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the service answers."""

    status: int
    body: bytes


Serve = Callable[[Question], Said | None]
"""The service; None while it is away."""


class Waiting(Protocol):
    """A host, which has its other events when it has its answer."""

    name: str

    def wait(self, seconds: float) -> None:
        """Let time pass; raises Killed if the host's agent ended meanwhile."""
        ...


class Way:
    """The way of one host. `trouble_ratio` is the part of its questions that have some."""

    def __init__(
        self, host: Waiting, serve: Serve, *, agenda: Agenda, trail: Trail, rng: random.Random
    ) -> None:
        self._host, self._serve = host, serve
        self._agenda, self._trail, self._rng = agenda, trail, rng
        self._former: list[Said] = []
        self.is_cut = False
        self.trouble_ratio = 0.0

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        most_s: float | None = None,
    ) -> Answer:
        """As `enforcers.http_exchange.HttpExchange`."""
        del most_s
        question = Question(method=method, path=path, body=body or b"", headers=dict(headers))
        said = self._carried(question)
        if said is None:
            raise ServerError(f"{method} {path}: no answer")
        return Answer(
            status=said.status, headers=Message(), body=said.body, place=f"{method} {path}"
        )

    def _carried(self, question: Question) -> Said | None:
        if self.is_cut:
            self._host.wait(TIMEOUT_S)
            return None
        trouble = self._trouble(question)
        if trouble is Trouble.LOST:
            self._host.wait(TIMEOUT_S)
            return None
        if trouble is Trouble.CACHED:
            self._host.wait(USUAL_S)
            return self._rng.choice(self._former)
        if trouble is Trouble.LATE_QUESTION:
            # The host gives up before, and the service is asked all the same.
            late_s = TIMEOUT_S + self._rng.uniform(1.0, 60.0)
            self._agenda.after(late_s, lambda: self._arrives(question))
            self._host.wait(TIMEOUT_S)
            return None
        if trouble is Trouble.DOUBLED:
            self._agenda.after(self._rng.uniform(1.0, 90.0), lambda: self._arrives(question))
        self._host.wait(self._rng.uniform(0.01, USUAL_S))
        said = self._serve(question)
        if said is not None and question.method == "GET" and said.status == 200:
            self._former = [*self._former[-4:], said]
        if trouble is Trouble.CUT:
            self._host.wait(self._rng.uniform(0.01, USUAL_S))
            return None
        slow = trouble is Trouble.LATE_ANSWER
        self._host.wait(self._rng.uniform(1.0, TIMEOUT_S - 0.5) if slow else USUAL_S / 2)
        return said

    def _arrives(self, question: Question) -> None:
        self._trail.note(self._host.name, f"a question of before arrives: {question.path}")
        self._serve(question)

    def _trouble(self, question: Question) -> Trouble | None:
        if self._rng.random() >= self.trouble_ratio:
            return None
        trouble = self._rng.choice(list(Trouble))
        if trouble is Trouble.CACHED and (question.method != "GET" or not self._former):
            return None
        self._trail.fault(self._host.name, str(trouble), question.path.rpartition("/")[2])
        return trouble
