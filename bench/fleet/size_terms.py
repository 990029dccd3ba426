"""What it costs to learn the size terms of a fleet's datastores from their last day."""

from __future__ import annotations

from advisor.models import LearntSizeTerm
from bench.fleet import product
from bench.fleet.cost import cost_of
from bench.fleet.rows import Row, at_most
from bench.fleet.shape import END
from bench.fleet.stage import Stage

EACH_ASKED_S, QUERIES_ASKED = 5, 12
"""Of a thousand datastores, each once a day, five seconds are a seventeenth of a core."""


def size_term_rows(stage: Stage) -> list[Row]:
    """All datastores, one after the other, as upkeep does once a day."""
    found: list[LearntSizeTerm] = []
    cost = cost_of(lambda: found.extend(product.learn_size_term(one, END) for one in stage.stores))
    learnt = sum(one.size_term_bytes is not None for one in found)
    count, of = len(stage.stores), f"of {stage.shape.workloads} workloads"
    note = f"{count} datastores, {learnt} learnt; the first: {found[0].reason}"
    return [
        at_most(f"size term of a datastore {of} learnt, CPU", "s", EACH_ASKED_S,
                cost.cpu_s / count, note),
        at_most("size term of a datastore learnt, queries", "queries", QUERIES_ASKED,
                cost.queries / count, note),
    ]  # fmt: skip
