"""The product's worker, with resources whose names say what they do.

`celery --app=tests.config.poisoned_worker worker` is started by tests on their own database.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import django

from config.celery import app  # noqa: F401  what celery looks for

django.setup()

from advisor.advice import advise  # noqa: E402  Django is set up first
from advisor.advice.policy import recommend  # noqa: E402  Django is set up first
from advisor.pipeline import groups  # noqa: E402  Django is set up first


def _may_fail(service: Callable[..., Any]) -> Callable[..., Any]:
    def run(*, resource: Any, **rest: Any) -> Any:
        _act(resource)
        return service(resource=resource, **rest)

    return run


def _each_may_fail(service: Callable[..., Any]) -> Callable[..., Any]:
    def run(resources: Any, **rest: Any) -> Any:
        for resource in resources:
            _act(resource)
        return service(resources, **rest)

    return run


def _act(resource: Any) -> None:
    match resource.name.rpartition("/")[2]:
        case "raises":
            raise RuntimeError("poison")
        case "hangs":
            time.sleep(3600.0)
        case "hangs-for-good":
            # Nothing but the end of its process helps.
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            time.sleep(3600.0)


groups.judge_together = _each_may_fail(groups.judge_together)
recommend.recommend = _may_fail(recommend.recommend)
advise.advise = _may_fail(advise.advise)
