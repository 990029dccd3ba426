"""The sheets of a run: one for each study, with a panel for each of its experiments. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from advisor.lab.replay.study import experiments
from bench.fleet.rows import Row
from bench.testbed.plots.network_plans import NETWORK_PLANS
from bench.testbed.plots.plan import Place, Plan
from bench.testbed.plots.sheet import Bar, Course, Panel, Sheet
from bench.testbed.plots.storage_plans import STORAGE_PLANS
from bench.testbed.studies import EXPERIMENTS, study_rows

PLANS: Mapping[str, Plan] = {**NETWORK_PLANS, **STORAGE_PLANS}


def sheets(measured: Sequence[Row]) -> list[Sheet]:
    """Every study's sheet, in the order of the replays; nothing measured leaves its bars out."""
    by_replay: dict[str, list[Row]] = {}
    for one, row in zip(EXPERIMENTS, study_rows(measured), strict=True):
        by_replay.setdefault(one.replay, []).append(row)
    found: dict[str, list[Panel]] = {}
    for each in experiments():
        panel = _panel(f"{each.name}: {each.title}", PLANS[each.name], by_replay[each.name])
        found.setdefault(each.study, []).append(panel)
    return [
        Sheet(name=_file_name(study), title=study, panels=panels)
        for study, panels in found.items()
    ]


def _panel(title: str, plan: Plan, rows: Sequence[Row]) -> Panel:
    by_what = {row.what: row for row in rows}
    return Panel(
        title=title,
        unit=plan.unit,
        source=plan.source,
        bars=[_bar(place, by_what) for place in plan.places],
        mark_text=plan.mark_text,
        notes=[_note(row) for row in rows],
        course=_course(plan, by_what) if plan.course else None,
        is_logarithmic=plan.is_logarithmic,
    )


def _bar(place: Place, rows: Mapping[str, Row]) -> Bar:
    row = rows[place.what]
    if row.measured is None:
        return place.bar
    ours = row.values[place.value] if place.value else row.measured
    return replace(place.bar, ours=ours / place.of)


def _course(plan: Plan, rows: Mapping[str, Row]) -> Course:
    return Course(
        title=plan.course_title,
        unit="IOPS",
        values=rows[plan.course].course,
        bound=plan.bound,
        bound_text="reservation",
    )


def _note(row: Row) -> str:
    if row.measured is None:
        return f"{row.what}: {row.note}"
    holds = "holds" if row.holds else "does not hold"
    return f"{row.what}: {row.measured:.4g} {row.unit}, asked {row.asked}, {holds}; {row.note}"


def _file_name(study: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", study.lower()).strip("-")
