"""The Celery application and the schedule of periodic work."""

import os

from celery import Celery
from django.conf import settings
from kombu import Queue

# Their receivers note what tasks and workers do.
import config.heartbeats  # noqa: F401
import config.task_log  # noqa: F401
import config.work_record  # noqa: F401
from config.broker import broker
from config.kept_connections import keep_connections
from config.queues import LONGEST_TASK_S, QUEUES, QueueLimits, route

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Periodic work by name. Every task is safe to run twice, because a broker may deliver twice.
# A message expires as its task says, and one that still waits is not queued again.
BEAT_SCHEDULE: dict[str, dict[str, object]] = {
    "detect": {"task": "advisor.tasks.detect_everywhere", "schedule": 5.0},
    # Before advice, which waits for it.
    "look-outside": {"task": "advisor.tasks.look_outside_everywhere", "schedule": 10.0},
    # Whom pages, messages and advice accuse.
    "find-causes": {"task": "advisor.tasks.find_causes_everywhere", "schedule": 15.0},
    "recommend": {"task": "advisor.tasks.recommend_everywhere", "schedule": 15.0},
    # A few resources at a time; each at most every five minutes.
    "advise": {"task": "advisor.tasks.advise_everywhere", "schedule": 15.0},
    # A violated reservation must be fixed within five minutes, so it must be found well before.
    "place": {"task": "advisor.tasks.place_everywhere", "schedule": 30.0},
    # Harm is to be taken back soon.
    "roll-out": {"task": "advisor.tasks.roll_out_everywhere", "schedule": 10.0},
    "act": {"task": "advisor.tasks.act_everywhere", "schedule": 30.0},
    # People are told within half a minute.
    "notify": {"task": "advisor.tasks.notify_everywhere", "schedule": 10.0},
    "send": {"task": "advisor.tasks.send_everywhere", "schedule": 5.0},
    # A report is due at an hour of a day.
    "report": {"task": "advisor.tasks.report_everywhere", "schedule": 30.0},
    # Each threshold once an hour, for the hour that comes.
    "learn": {"task": "advisor.tasks.learn_everywhere", "schedule": 60.0},
    # Somebody waits for the report.
    "import": {"task": "advisor.tasks.import_everywhere", "schedule": 5.0},
    # Somebody waits for a test.
    "read-sources": {"task": "advisor.tasks.read_sources_everywhere", "schedule": 5.0},
    "score": {"task": "advisor.tasks.score_everywhere", "schedule": 60.0},
    # A new day is known an hour and a half after its end.
    "foresee": {"task": "advisor.tasks.foresee_everywhere", "schedule": 600.0},
    # Somebody waits for the first disk of a new host.
    "discover": {"task": "advisor.tasks.discover_everywhere", "schedule": 10.0},
    # An organisation's turn comes every five minutes; hours are sealed soon after they settled.
    "store": {"task": "advisor.tasks.store_everywhere", "schedule": 60.0},
    "delete": {"task": "advisor.tasks.delete_everywhere", "schedule": 60.0},
    "tidy": {"task": "advisor.tasks.tidy", "schedule": 3600.0},
    "maintain-samples": {"task": "ingest.tasks.maintain_samples", "schedule": 3600.0},
}
if settings.CHECK_IN_URL:
    # Whoever watches expects it once a minute.
    BEAT_SCHEDULE["check-in"] = {"task": "advisor.tasks.check_in", "schedule": 60.0}
if settings.MOVE_COMMAND:
    # A violated reservation must be fixed within five minutes.
    BEAT_SCHEDULE["carry-out"] = {"task": "advisor.tasks.carry_out_everywhere", "schedule": 10.0}


_BROKER = broker(settings.REDIS_URL)

app = Celery("sluice", task_cls="config.one_waiting.OneWaiting")
app.conf.update(
    broker_url=_BROKER.url,
    broker_connection_retry_on_startup=True,
    beat_schedule=BEAT_SCHEDULE,
    beat_scheduler="config.heartbeats:LivingScheduler",
    beat_schedule_filename=str(settings.DATA_DIR.root / "beat-schedule"),
    task_queues=[Queue(queue.name) for queue in QUEUES],
    task_create_missing_queues=False,
    task_default_queue="upkeep",
    task_routes=(route,),
    task_annotations=(QueueLimits(),),
    # A worker takes a message only when it has a free slot.
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    # A task that killed its process would kill the next one too; its next turn is soon enough.
    task_reject_on_worker_lost=False,
    # After this time the messages of a killed worker are delivered again.
    broker_transport_options={"visibility_timeout": LONGEST_TASK_S + 60, **_BROKER.options},
    # Services write their results to the database, not to the broker.
    task_ignore_result=True,
    timezone="UTC",
    worker_hijack_root_logger=False,
)
keep_connections(app)
app.autodiscover_tasks(["ingest", "advisor", "web"])
