"""What waits in the queues of a real valkey."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

import redis

from config.celery import app
from config.queues import QUEUES

app.set_default()


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One task that waits; the oldest of a queue is the next."""

    task: str
    args: tuple[object, ...]


def waiting(url: str, queue: str) -> list[Message]:
    """The messages of a queue, the next one first."""
    with redis.Redis.from_url(url) as client:
        return [_read(raw) for raw in reversed(client.lrange(queue, 0, -1))]


def all_waiting(url: str) -> list[Message]:
    """The messages of every queue."""
    return [message for queue in QUEUES for message in waiting(url, queue.name)]


def empty(url: str) -> None:
    """Forget all messages and marks."""
    with redis.Redis.from_url(url) as client:
        client.flushall()


def _read(raw: bytes) -> Message:
    message = json.loads(raw)
    args, _, _ = json.loads(base64.b64decode(message["body"]))
    return Message(task=message["headers"]["task"].rpartition(".")[2], args=tuple(args))
