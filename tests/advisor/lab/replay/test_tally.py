"""Statements of studies counted once, numbers and words apart."""

from advisor.lab.replay.tally import summary_of, tallies_of

TWO, ONE, NONE = "two-sided number", "one-sided number", "no printed number"


def row(number, kind, verdict, experiment="x"):
    return {"experiment": experiment, "number": number, "kind": kind, "verdict": verdict}


def counts(*rows):
    return {
        str(tally.kind): (tally.holds, tally.differs, tally.not_modelled)
        for tally in tallies_of(rows)
    }


def test_kinds_are_counted_apart():
    found = counts(
        row("1", TWO, "holds"), row("2", TWO, "differs"), row("3", ONE, "holds"),
        row("4", NONE, "holds"), row("5", TWO, "not modelled"),
    )  # fmt: skip

    assert found == {TWO: (1, 1, 1), ONE: (1, 0, 0), NONE: (1, 0, 0)}


def test_number_checked_four_times_counts_once():
    assert counts(*[row("1", TWO, "holds")] * 4)[TWO] == (1, 0, 0)


def test_same_place_in_another_experiment_is_another_number():
    assert counts(row("1", TWO, "holds"), row("1", TWO, "holds", "y"))[TWO] == (2, 0, 0)


def test_number_that_differs_once_does_not_hold():
    assert counts(row("1", TWO, "holds"), row("1", TWO, "differs"))[TWO] == (0, 1, 0)


def test_number_compared_once_is_modelled():
    assert counts(row("1", TWO, "not modelled"), row("1", TWO, "holds"))[TWO] == (1, 0, 0)


def test_number_checked_as_it_stands_and_as_a_bound_is_two_sided():
    assert counts(row("1", ONE, "holds"), row("1", TWO, "holds")) == {
        TWO: (1, 0, 0), ONE: (0, 0, 0), NONE: (0, 0, 0),
    }  # fmt: skip


def test_summary_leaves_out_kinds_that_do_not_occur():
    rows = [row("1", TWO, "holds"), row("2", TWO, "differs"), row("3", TWO, "not modelled")]

    assert summary_of(rows) == (
        "of 2 two-sided numbers 1 holds, 1 differs, 1 more is not modelled"
    )


def test_summary_names_statements_without_a_number():
    rows = [row("1", NONE, "holds"), row("2", NONE, "holds"), row("3", ONE, "holds")]

    assert summary_of(rows) == (
        "of 1 one-sided number 1 holds, 0 differ; "
        "of 2 statements without a number 2 hold, 0 differ"
    )
