"""How much memory workers and the queue's server may take, by that of the machine."""

from __future__ import annotations

from appliance.embedded.postgres_memory import GIB, MIB


def task_process_bytes(memory_bytes: int) -> int:
    """A process that ran a task and had more than this is replaced: a sixteenth, within bounds.

    Seven of them, with the database's eighth, then take less than the machine has.
    """
    return _part(memory_bytes, 16, at_least=512 * MIB, at_most=4 * GIB)


def queue_bytes(memory_bytes: int) -> int:
    """The messages and figures of the queue's server; when it is saved it takes up to twice it."""
    return _part(memory_bytes, 32, at_least=64 * MIB, at_most=GIB)


def _part(memory_bytes: int, ratio: int, *, at_least: int, at_most: int) -> int:
    return min(max(memory_bytes // ratio, at_least), at_most)
