"""The queues of the workers: each has its own slots, so slow work delays only its own kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkQueue:
    """One kind of work: how many tasks run at a time, and how long each may run and wait.

    After the soft limit a task is interrupted and can clean up; after the hard one its process
    is killed.
    """

    name: str
    tasks: tuple[str, ...]
    slots: int = 1
    soft_limit_s: int = 300
    hard_limit_s: int = 330
    expires_s: int = 600


MOVES = "move"

QUEUES = (
    # Two slots, so that a hanging task leaves one.
    WorkQueue(
        name="evaluate",
        tasks=("detect_everywhere", "detect_group", "detect_resource"),
        slots=2,
        soft_limit_s=40,
        hard_limit_s=50,
        expires_s=60,
    ),
    WorkQueue(
        name="advise",
        tasks=(
            "look_outside_everywhere", "look_outside", "find_causes_everywhere", "find_causes",
            "recommend_everywhere", "recommend_resource", "advise_everywhere",
            "advise_resource", "place_everywhere", "place_on_hosts", "roll_out_everywhere",
            "roll_out", "act_everywhere", "act",
        ),
    ),
    # Two slots: a mail server or webhook that hangs keeps one of them for half a minute.
    WorkQueue(
        name="notify",
        tasks=(
            "notify_everywhere", "notify_organisation", "send_everywhere", "send_messages",
            "check_in",
        ),
        slots=2,
        soft_limit_s=40,
        hard_limit_s=50,
        expires_s=60,
    ),
    WorkQueue(
        name="report",
        tasks=(
            "import_everywhere", "import_upload", "report_everywhere", "make_reports",
            "read_sources_everywhere", "read_source_of",
        ),
    ),
    # A command that moves a workload may take minutes, and its advice is good for few.
    WorkQueue(name=MOVES, tasks=("carry_out_everywhere", "carry_out")),
    WorkQueue(
        name="upkeep",
        tasks=(
            "discover_everywhere", "discover_organisation", "learn_everywhere", "learn_threshold",
            "learn_size_term",
            "score_everywhere", "score_prediction", "score_natural_changes",
            "foresee_everywhere", "foresee_full_day",
            "tidy", "maintain_samples", "store_everywhere", "store_organisation",
            "delete_everywhere", "delete_organisation",
        ),
    ),
)  # fmt: skip


def queues_in_use(*, moves: bool) -> tuple[WorkQueue, ...]:
    """Those that have work, and so a worker; that of moves only where a command makes them."""
    return tuple(queue for queue in QUEUES if moves or queue.name != MOVES)


LONGEST_TASK_S = max(queue.hard_limit_s for queue in QUEUES)

_QUEUE_OF = {task: queue for queue in QUEUES for task in queue.tasks}


def route(name: str, *_: Any, **__: Any) -> dict[str, str] | None:
    """Where Celery sends a task; None for Celery's own tasks."""
    return None if name.startswith("celery.") else {"queue": queue_of(name).name}


def queue_of(task: str) -> WorkQueue:
    """The queue of a task, whose name ends with that of its function.

    Raises KeyError for a task of the product that no queue names.
    """
    return _QUEUE_OF[task.rpartition(".")[2]]


class QueueLimits:
    """Gives every task of the product the limits of its queue, as a Celery annotation."""

    def annotate_any(self) -> None:
        """No annotation applies to every task."""

    def annotate(self, task: Any) -> dict[str, Any] | None:
        """The limits of this task; None for Celery's own tasks."""
        if task.name.startswith("celery."):
            return None
        queue = queue_of(task.name)
        return {
            "waits_in": queue.name,
            "soft_time_limit": queue.soft_limit_s,
            "time_limit": queue.hard_limit_s,
            "expires": queue.expires_s,
        }
