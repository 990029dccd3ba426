"""Judged windows become runs of states, and records of what windows say.

A record is kept where a window says something new: an idle disk has 24 rows a day instead of
8,640. What was judged is carried over, and back.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

from advisor.core.level_records import (
    Record,
    Run,
    Saying,
    Window,
    hour_of,
    joined,
    keep,
    pack,
    part_of,
    records_of,
    unpack,
)
from advisor.core.detection.worst_levels import entry_of, has_value, joined_entries
from ingest.core.grid import microseconds, moment

# Rows of the open hour are written often: what is next to them stays free. Records are compressed.
STORAGE = """
ALTER TABLE advisor_levelrecords SET (fillfactor = 70);
ALTER TABLE advisor_levelrecords ALTER data SET STORAGE EXTERNAL;
"""


def store_as_runs(apps: Any, _: Any) -> None:
    resources = apps.get_model("advisor.Resource").objects.order_by("pk")
    for resource, window_s in resources.values_list("pk", "window_s"):
        kept = keep(_windows(apps, resource), run=None, last=None, step_us=round(window_s * 1e6))
        newest = kept.runs[-1:]
        apps.get_model("advisor.StateRun").objects.bulk_create(
            [
                apps.get_model("advisor.StateRun")(
                    resource_id=resource,
                    state=run.state,
                    since=moment(run.since_us),
                    first_at=moment(run.first_us),
                    until=moment(run.until_us),
                    window_s=run.step_us / 1e6,
                    reason=run.reason,
                    is_open=[run] == newest,
                )
                for run in kept.runs
            ],
            batch_size=1000,
        )
        apps.get_model("advisor.LevelRecords").objects.bulk_create(
            [
                apps.get_model("advisor.LevelRecords")(
                    resource_id=resource,
                    at=moment(hour_us),
                    is_hour=True,
                    has_value=has_value(worst),
                    data=pack(records_of([one.window for one in records])),
                    worst=worst,
                )
                for hour_us, records in _by_hour(kept.records)
                for worst in [joined_entries(_entries(records))]
            ],
            batch_size=1000,
        )


def _windows(apps: Any, resource: int) -> Iterator[Window]:
    rows = apps.get_model("advisor.StatePoint").objects.filter(resource=resource).order_by("at")
    for at, since, state, reason, signals, *figures in rows.values_list(
        "at", "since", "state", "reason", "signals", "value", "threshold", "load", "device_load"
    ).iterator(chunk_size=10_000):
        text = json.dumps(signals, separators=(",", ":")) if signals else ""
        saying = Saying(state=state, since_us=microseconds(since), reason=reason, signals=text)
        yield Window(at_us=microseconds(at), saying=saying, figures=tuple(figures))


def _by_hour(records: list[Record]) -> Iterator[tuple[int, list[Record]]]:
    for hour_us, own in groupby(records, key=lambda one: hour_of(one.window.at_us)):
        yield hour_us, list(own)


def _entries(records: list[Record]) -> Iterator[bytes]:
    for _, own in groupby(records, key=lambda one: part_of(one.window.at_us)):
        yield entry_of(list(own), before=b"")


def store_as_points(apps: Any, _: Any) -> None:
    runs = apps.get_model("advisor.StateRun").objects.order_by("first_at")
    for resource in runs.order_by("resource").values_list("resource", flat=True).distinct():
        rows = apps.get_model("advisor.LevelRecords").objects.filter(resource=resource)
        parts = rows.order_by("at").values_list("data", flat=True)
        records = joined([unpack(bytes(data)) for data in parts])
        points = []
        for row in runs.filter(resource=resource):
            for at_us in _run_of(row).ends(0, microseconds(row.until)).tolist():
                place = int(records.at_us.searchsorted(at_us, side="right")) - 1
                points.append(_point(apps, resource, at_us, records.window(place)))
        apps.get_model("advisor.StatePoint").objects.bulk_create(points, batch_size=1000)


def _run_of(row: Any) -> Run:
    return Run(
        state=row.state,
        since_us=microseconds(row.since),
        first_us=microseconds(row.first_at),
        until_us=microseconds(row.until),
        step_us=round(row.window_s * 1e6),
        reason=row.reason,
    )


def _point(apps: Any, resource: int, at_us: int, window: Window) -> Any:
    value, threshold, load, device_load = window.figures
    saying = window.saying
    return apps.get_model("advisor.StatePoint")(
        resource_id=resource,
        at=moment(at_us),
        since=moment(saying.since_us),
        state=saying.state,
        value=value,
        threshold=threshold,
        load=load,
        device_load=device_load,
        reason=saying.reason,
        signals=json.loads(saying.signals) if saying.signals else [],
    )


def forget_content_type(apps: Any, _: Any) -> None:
    types = apps.get_model("contenttypes.ContentType").objects
    types.filter(app_label="advisor", model="statepoint").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("advisor", "0032_judge_late_samples"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.AddField(
            model_name="resourcestatus",
            name="last_window_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="LevelRecords",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("is_hour", models.BooleanField(default=False)),
                ("has_value", models.BooleanField(help_text="Whether some window has a value")),
                ("data", models.BinaryField()),
                ("worst", models.BinaryField()),
                (
                    "resource",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="level_records",
                        to="advisor.resource",
                    ),
                ),
            ],
            options={
                "ordering": ["resource", "at"],
            },
        ),
        migrations.CreateModel(
            name="StateRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("clear", "Clear"),
                            ("congested", "Congested"),
                            ("stalled", "Stalled"),
                            ("unknown", "Unknown"),
                        ],
                        max_length=10,
                    ),
                ),
                ("since", models.DateTimeField()),
                ("first_at", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("window_s", models.FloatField()),
                ("reason", models.TextField(blank=True)),
                ("is_open", models.BooleanField()),
                (
                    "resource",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="state_runs",
                        to="advisor.resource",
                    ),
                ),
            ],
            options={
                "ordering": ["resource", "first_at"],
            },
        ),
        migrations.AddIndex(
            model_name="levelrecords",
            index=models.Index(
                condition=models.Q(("is_hour", False)), fields=["at"], name="levels_to_merge"
            ),
        ),
        migrations.AddConstraint(
            model_name="levelrecords",
            constraint=models.UniqueConstraint(
                fields=("resource", "at"), name="one_row_per_part_of_levels"
            ),
        ),
        migrations.AddConstraint(
            model_name="staterun",
            constraint=models.UniqueConstraint(
                fields=("resource", "first_at"), name="one_run_per_window"
            ),
        ),
        migrations.AddConstraint(
            model_name="staterun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_open", True)),
                fields=("resource",),
                name="one_open_run_per_resource",
            ),
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.RunPython(store_as_runs, store_as_points),
        migrations.DeleteModel(
            name="StatePoint",
        ),
        migrations.RunPython(forget_content_type, migrations.RunPython.noop),
    ]
