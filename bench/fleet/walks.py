"""The way through the code of detection, advice and what-if, as it runs on the fleet."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.test.utils import override_settings

from bench.fleet import product
from bench.fleet.clock import frozen_at
from bench.fleet.inventory import OPERATOR, hear_hosts
from bench.fleet.rows import Row, at_most
from bench.fleet.shape import END
from bench.fleet.stage import JUDGED, WINDOW, Stage
from bench.fleet.walk import Walk

AS_PART = {"HX-Request": "true"}
"""The page asks for the answer alone."""


def walk_rows(stage: Stage) -> list[Row]:
    """Two rows for each: the files that it goes through, and the climbs back among them."""
    return [
        *_rows("detection", 12, "advisor/pipeline/detect.py", "detect", lambda: _detect(stage)),
        *_rows(
            "advice",
            10,
            "advisor/advice/policy/recommend.py",
            "recommend",
            lambda: product.advise_policy(stage.stores[0], END),
        ),
        *_rows("what-if", 14, "web/views/what_if.py", "page", lambda: _what_if(stage)),
    ]


def _rows(name: str, most: int, file: str, function: str, ask: Callable[[], object]) -> list[Row]:
    # As most calls find it: what is remembered is known.
    ask()
    walk = Walk(file, function)
    walk.follow(ask)
    climbs = float(len(walk.climbs)) if walk.files else None
    return [
        at_most(f"files on the way through {name}", "files", most, float(len(walk.files)) or None),
        at_most(
            f"climbs on the way through {name}",
            "climbs",
            0,
            climbs,
            ", ".join(sorted(walk.climbs)),
        ),
    ]


def _detect(stage: Stage) -> None:
    """Judge the next window of a congested datastore, and forget it again."""
    at = END - JUDGED + WINDOW
    with transaction.atomic():
        hear_hosts(stage.organisation, at)
        product.judge_one(stage.stores[0], at)
        transaction.set_rollback(True)


def _what_if(stage: Stage) -> None:
    client = Client()
    client.force_login(User.objects.get(username=OPERATOR))
    with frozen_at(END), override_settings(ALLOWED_HOSTS=["testserver"]):
        client.get(f"/resources/{stage.stores[0].pk}/what-if/?hours=24", headers=AS_PART)
