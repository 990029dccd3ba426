"""The text of /metrics: what a strict parser reads is what was meant."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from enforcers.metrics.exposition import Family, Kind, Sample, render

# The grammar of the documentation: a comment, or name, labels and a number as Go parses it.
LINE = re.compile(
    r"# (HELP [a-zA-Z_:][a-zA-Z0-9_:]* ([^\\\n]|\\\\|\\n)*"
    r"|TYPE [a-zA-Z_:][a-zA-Z0-9_:]* (counter|gauge|summary))"
    r"|[a-zA-Z_:][a-zA-Z0-9_:]*"
    r'(\{[a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\\\|\\n|\\")*"'
    r'(,[a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\\\|\\n|\\")*")*\})?'
    r" ([+-]Inf|-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?)"
)


def gauge(*samples: Sample, words: str = "Words.") -> Family:
    return Family(name="sluice_x", kind=Kind.GAUGE, words=words, samples=samples)


def parsed(text: bytes) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What a reader has; the text must be of the grammar, with no line twice."""
    assert text.endswith(b"\n")
    assert all(LINE.fullmatch(line) for line in text.decode().split("\n")[:-1])
    found = [
        ((sample.name, frozenset(sample.labels.items())), sample.value)
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


def test_family_is_help_then_type_then_samples() -> None:
    family = gauge(Sample(value=1.5, labels={"a": "b", "c": "d"}), Sample(value=2))

    assert render([family]).decode() == (
        '# HELP sluice_x Words.\n# TYPE sluice_x gauge\nsluice_x{a="b",c="d"} 1.5\nsluice_x 2\n'
    )


def test_summary_has_its_parts_under_one_type() -> None:
    parts = (Sample(value=0.25, suffix="_sum"), Sample(value=2, suffix="_count"))
    family = Family(name="sluice_t_seconds", kind=Kind.SUMMARY, words="T.", samples=parts)

    text = render([family])

    assert text.decode().splitlines()[2:] == [
        "sluice_t_seconds_sum 0.25",
        "sluice_t_seconds_count 2",
    ]
    (read,) = text_string_to_metric_families(text.decode())
    assert (read.type, len(read.samples)) == ("summary", 2)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_label_value_comes_out_as_it_went_in(value: str) -> None:
    text = render([gauge(Sample(value=1, labels={"workload": value}))])

    assert parsed(text) == {("sluice_x", frozenset({("workload", value)})): 1.0}


def test_quote_backslash_and_newline_are_escaped() -> None:
    text = render([gauge(Sample(value=1, labels={"a": 'x"y\\z\nw'}), words="one \\ two\nthree")])

    assert text.decode().splitlines() == [
        "# HELP sluice_x one \\\\ two\\nthree",
        "# TYPE sluice_x gauge",
        'sluice_x{a="x\\"y\\\\z\\nw"} 1',
    ]


def test_half_of_a_surrogate_pair_in_a_name_spoils_no_text() -> None:
    text = render([gauge(Sample(value=1, labels={"a": "x\udc80"}))])

    assert 'a="x?"' in text.decode()


@given(st.floats(allow_nan=False))
def test_every_number_comes_out_as_it_went_in(value: float) -> None:
    ((read),) = parsed(render([gauge(Sample(value=value))])).values()

    assert read == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (94e6, "94000000"), (1e300, "1e+300"), (math.inf, "+Inf"), (-math.inf, "-Inf")],
)
def test_number_is_written_as_readers_expect(value: float, shown: str) -> None:
    assert render([gauge(Sample(value=value))]).decode().splitlines()[-1] == f"sluice_x {shown}"


@pytest.mark.parametrize("value", [None, math.nan])
def test_what_is_no_number_is_not_shown(value: float | None) -> None:
    both = gauge(Sample(value=value, labels={"a": "b"}), Sample(value=1))

    assert parsed(render([both])) == {("sluice_x", frozenset()): 1.0}
    assert render([gauge(Sample(value=value))]) == b""


@pytest.mark.parametrize("name", ["", "1x", "a-b", "a b", "ä", "x\n"])
def test_name_that_no_reader_takes_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a metric"):
        Family(name=name, kind=Kind.GAUGE, words="", samples=())
    with pytest.raises(ValueError, match="cannot be the name of a label"):
        gauge(Sample(value=1, labels={name: "x"}))


def test_label_that_prometheus_keeps_for_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="'__name__' cannot be the name of a label"):
        gauge(Sample(value=1, labels={"__name__": "x"}))
