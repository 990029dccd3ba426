"""What the limits of a workload do, as people are shown it."""

from __future__ import annotations

from advisor.advice.limit_check.decide.limit_check import LimitCheck
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs
from advisor.advice.shared.load_picture import thinned
from advisor.advice.shared.picture import Axis, Level, Line, Picture
from advisor.advice.shared.shown import AdviceTable, Commitment, Fact, Shown, TableColumn
from advisor.core.enumeration import clauses
from advisor.core.quantity import significant
from advisor.core.resource import IoCount, LimitScope

COMMITMENT = Commitment(
    does="It is noted that somebody will look after these limits.",
    does_not="No limit is changed, neither here nor on any host.",
    undo="There is nothing to undo.",
)


def show(inputs: LimitInputs, answer: LimitCheck, _resource: str) -> Shown:
    return Shown(
        table=_table(answer),
        facts=_facts(inputs),
        picture=_picture(inputs, answer),
        commitment=COMMITMENT,
    )


def _table(answer: LimitCheck) -> AdviceTable:
    """One row per limit or pool of them."""
    return AdviceTable(
        title="What was found",
        columns=(
            TableColumn(title="Limit of"),
            TableColumn(title="Finding"),
            TableColumn(title="Lets pass", unit="IOPS", is_number=True),
            TableColumn(title="Passed", unit="IOPS", is_number=True),
            TableColumn(title="What to do"),
        ),
        rows=tuple(
            (
                one.name,
                one.finding.value.replace("_", " "),
                None if one.limit_iops is None else significant(one.limit_iops),
                significant(one.rate_iops),
                one.action,
            )
            for one in answer.limits
        ),
    )


def _facts(inputs: LimitInputs) -> tuple[Fact, ...]:
    windows = len(inputs.vdisks[0].windows) if inputs.vdisks else 0
    threshold = inputs.congestion_threshold_ms
    return (
        Fact(name="Workload", text=f"{inputs.workload} on {inputs.datastore}"),
        Fact(name="Windows", text=f"{windows} of the last hour"),
        Fact(name="Limits are stated", text=_words(inputs.scope)),
        Fact(name="I/Os are stated to count", text=_words(inputs.count)),
        Fact(
            name="Congestion threshold",
            text="not known" if threshold is None else f"{significant(threshold)} ms",
        ),
    )


def _words(value: LimitScope | IoCount) -> str:
    return value.value.replace("_", " ")


def _picture(inputs: LimitInputs, answer: LimitCheck) -> Picture | None:
    """The rate of each virtual disk, window by window, against its limit."""
    disks = [one for one in inputs.vdisks if one.windows]
    if not disks:
        return None
    limits = {one.limit_iops for one in answer.limits if one.limit_iops is not None}
    return Picture(
        title="Its rate against its limit",
        said=clauses(f"{one.name}: {one.reason}" for one in answer.limits),
        x=Axis(label="windows of the last hour, oldest first"),
        y=Axis(label="rate", unit="IOPS"),
        lines=tuple(
            Line(
                label=one.vdisk,
                points=thinned(
                    [(float(place), window.iops) for place, window in enumerate(one.windows)]
                ),
            )
            for one in disks
        ),
        levels=tuple(
            Level(value=limit, text=f"limit {significant(limit)} IOPS", is_after=True)
            for limit in sorted(limits)
        ),
    )
