"""The id of the request that asked for work which a task finds in the database.

It leads from the lines of the web server to those of the worker. If it is lost, nothing else is.
"""

from __future__ import annotations

import logging

import redis

from accounts.log_context import request_id, tell
from advisor.pipeline import work_figures

log = logging.getLogger(__name__)


def note_asked(what: str) -> None:
    """Note who asks for `what`, such as `import 5`; outside of a request nobody does."""
    if not (asked_by := request_id()):
        return
    try:
        work_figures.keep_asker(what, asked_by)
    except redis.RedisError as error:
        log.warning("request of later work not noted", extra={"of": what, "reason": str(error)})


def tell_who_asked(what: str) -> None:
    """From here on the lines of this task have the id of the request that asked for `what`."""
    if not request_id():
        return
    try:
        asked_by = work_figures.take_asker(what)
    except redis.RedisError:
        return
    if asked_by:
        tell(request_id=asked_by)
