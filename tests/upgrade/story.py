"""A story that the product of commit ba4e96e told: a line of JSON per row, as it was stored.

It is the noisy neighbour of the tests of pages, with advice of every kind, an approved policy,
documents and reports of hosts, and a planned job; without samples, and with ten windows a
resource. The secrets of two tokens are SECRETS.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from django.apps.registry import Apps
from django.db import models

from tests.upgrade.rows import models_of

STORY = Path(__file__).with_name("story_of_ba4e96e.jsonl")
OWNER = "owner"
SECRETS = {"telegraf": "of telegraf", "agent of kvm-02": "of kvm-02"}


def tell(apps: Apps) -> None:
    """Store the rows of the story under the numbers that they had."""
    lines = defaultdict(list)
    for line in STORY.read_text().splitlines():
        row = json.loads(line)
        lines[row["model"]].append(row)
    for model in models_of(apps):
        for row in lines.pop(model._meta.label_lower, []):
            _store(model, row["pk"], row["fields"])
    assert not lines


def _store(model: type[models.Model], pk: int, values: dict[str, Any]) -> None:
    several = {column.name: values.pop(column.name) for column in model._meta.many_to_many}
    row = model(pk=pk)
    for name, value in values.items():
        column = model._meta.get_field(name)
        setattr(row, column.attname, column.to_python(value))
    row.save(force_insert=True)
    for name, related in several.items():
        getattr(row, name).set(related)
