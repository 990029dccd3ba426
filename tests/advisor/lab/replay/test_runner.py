"""Rows of a study's file beside the values of a model."""

import pytest

from advisor.lab.replay.experiment import Basis, Outcome
from advisor.lab.replay.finding import Kind, Verdict
from advisor.lab.replay.runner import replay_of
from advisor.lab.replay.study import Experiment, PremiseRow, Row


def played(*rows, values, premises=()):
    experiment = Experiment(
        name="x", old_name="000", title="An experiment", study="A study", rows=rows,
        premises=tuple(premises),
    )  # fmt: skip
    return replay_of(experiment, Outcome(values=values, figures=()))


def finding(row, **values):
    (found,) = played(row, values=values).findings
    return found


def test_printed_number_is_held_against_the_value_that_the_row_names():
    row = Row(what="load", unit="%", printed=20, ours="load", tolerance="policy", why="measured")

    found = finding(row, load=20.5, other=99.0)

    # 5 % of 20 is 1.
    assert (found.study_value, found.value, found.tolerance) == (20, 20.5, 1)
    assert (found.kind, found.verdict, found.why) == (Kind.TWO_SIDED, Verdict.HOLDS, "measured")


@pytest.mark.parametrize(
    ("value", "why"), [(20.5, "measured"), (30.0, "measured; 30 waited in the host")]
)
def test_reason_for_differing_is_told_only_where_it_differs(value, why):
    row = Row(
        what="load", unit="%", printed=20, ours="load", tolerance="policy", why="measured",
        differs="{load:.0f} waited in the host",
    )  # fmt: skip

    assert finding(row, load=value).why == why


def test_row_with_places_stands_for_one_finding_each():
    row = Row(
        what="load of {vm}", unit="%", printed={"VM 1": 20, "VM 2": 40}, each="vm", ours="load",
        why="{vm} has {shares:g} shares",
    )  # fmt: skip
    values = {"load": {"VM 1": 20.0, "VM 2": 39.0}, "shares": {"VM 1": 1000, "VM 2": 2000}}

    first, second = played(row, values=values).findings

    assert (first.quantity, first.study_value, first.verdict) == ("load of VM 1", 20, "holds")
    assert (second.quantity, second.study_value, second.verdict) == ("load of VM 2", 40, "differs")
    assert second.why == "VM 2 has 2000 shares"
    assert first.number != second.number


def test_one_number_printed_for_all_places_stays_one_number():
    row = Row(what="limit, {pattern}", unit="IOPS", printed=500, each="pattern", ours="iops")

    findings = played(row, values={"iops": {"read": 500.0, "write": 500.0}}).findings

    assert len(findings) == 2
    assert len({one.number for one in findings}) == 1


@pytest.mark.parametrize(
    ("stated", "relation", "kind"),
    [
        ({"printed": 5}, "about", Kind.TWO_SIDED),
        ({"printed": 5}, "at least", Kind.ONE_SIDED),
        ({"in_words": 0}, "at least", Kind.NO_NUMBER),
        ({"in_words": 1}, "about", Kind.NO_NUMBER),
    ],
)
def test_kind_says_whether_the_study_prints_a_number(stated, relation, kind):
    row = Row(what="x", unit="", ours="x", relation=relation, **stated)

    assert finding(row, x=1.0).kind is kind


def test_number_that_went_into_the_model_never_holds():
    row = Row(what="throughput", unit="IOPS", printed=200, ours="iops", calibrated=True)

    found = finding(row, iops=200.0)

    assert (found.verdict, found.tolerance, found.value) == (Verdict.NOT_MODELLED, None, 200)
    assert found.why.startswith("calibrated: it went into the model")


def test_number_that_cannot_be_had_has_no_value():
    row = Row(what="CPU", unit="%", printed=4, not_modelled=True, why="a model has no CPU")

    found = finding(row)

    assert (found.value, found.tolerance, found.verdict) == (None, None, Verdict.NOT_MODELLED)


def test_premise_takes_its_value_from_the_model_where_it_names_one():
    premises = [
        PremiseRow(quantity="disks", value=8, unit="disks", basis=Basis.STATED, source="a LUN"),
        PremiseRow(
            quantity="rate of {vm}", value="rate", unit="IOPS", basis=Basis.CALIBRATED,
            source="{rate:g} printed", each="vm",
        ),
    ]  # fmt: skip

    told = played(values={"rate": {"VM 1": 3.0, "VM 2": 4.0}}, premises=premises).premises

    assert [(one.quantity, one.value, one.source) for one in told] == [
        ("disks", 8, "a LUN"),
        ("rate of VM 1", 3, "3 printed"),
        ("rate of VM 2", 4, "4 printed"),
    ]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (Row(what="load", unit="%", printed=1, ours="lod"), "lod"),
        (Row(what="load", unit="%", ours="load"), "load: nothing to compare"),
        (Row(what="load", unit="%", printed=1, ours="text"), "load: the model gives 'many'"),
        (Row(what="{x}", unit="%", printed=1, each="x", ours="load"), "load has one value"),
    ],
    ids=["no such value", "nothing stated", "no number", "no places"],
)
def test_row_that_cannot_be_judged_is_refused(row, complaint):
    with pytest.raises((KeyError, ValueError, TypeError), match=complaint):
        finding(row, load=1.0, text="many")


def test_row_is_either_printed_or_in_words():
    with pytest.raises(ValueError, match="either printed or in words"):
        Row(what="load", unit="%", printed=1, in_words=1)
