"""The Celery application and the schedule of periodic work."""

import os

from celery import Celery
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Periodic work by name. Every task is safe to run twice, because a broker may deliver twice.
BEAT_SCHEDULE: dict[str, dict[str, object]] = {
    "detect": {"task": "advisor.tasks.detect_everywhere", "schedule": 5.0},
    "recommend": {"task": "advisor.tasks.recommend_everywhere", "schedule": 15.0},
    "advise": {"task": "advisor.tasks.advise_everywhere", "schedule": 300.0},
    # A violated reservation is to be mended within five minutes, so it has to be seen well before.
    "place": {"task": "advisor.tasks.place_everywhere", "schedule": 30.0},
    "score": {"task": "advisor.tasks.score_everywhere", "schedule": 300.0},
    "discover": {"task": "advisor.tasks.discover_everywhere", "schedule": 30.0},
    "tidy": {"task": "advisor.tasks.tidy", "schedule": 3600.0},
    "maintain-samples": {"task": "ingest.tasks.maintain_samples", "schedule": 3600.0},
}


def broker_url(redis_url: str) -> str:
    """The address of the broker as Celery spells it."""
    if redis_url.startswith("unix://"):
        return "redis+socket://" + redis_url.removeprefix("unix://")
    return redis_url


app = Celery("sluice")
app.conf.update(
    broker_url=broker_url(settings.REDIS_URL),
    broker_connection_retry_on_startup=True,
    beat_schedule=BEAT_SCHEDULE,
    beat_schedule_filename=str(settings.DATA_DIR.root / "beat-schedule"),
    # A task is taken from the queue when it is done, so that a killed worker loses none.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    # Services write their results to the database; the broker keeps none.
    task_ignore_result=True,
    task_default_queue="sluice",
    timezone="UTC",
    worker_hijack_root_logger=False,
)
app.autodiscover_tasks(["ingest", "advisor", "web"])
