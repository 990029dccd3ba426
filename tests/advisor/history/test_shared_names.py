"""What is said of names under which several machines send."""

from __future__ import annotations

import pytest

from advisor.history.shared_names import shared_clause, shared_sentence

END = "(SLUICE_HOSTNAME of Telegraf): until then what is shown of"


@pytest.mark.parametrize(
    ("names", "clause", "end"),
    [
        (
            ["h1"],
            "several machines send under the name of h1, or its clock was set back",
            f"{END} its devices is wrong or missing.",
        ),
        (
            ["h1", "h2"],
            "several machines send under each name of h1 and h2, or their clocks were set back",
            f"{END} their devices is wrong or missing.",
        ),
    ],
    ids=["one", "two"],
)
def test_sentence_is_the_reason_and_what_to_do(names: list[str], clause: str, end: str) -> None:
    assert shared_clause(names) == clause
    assert shared_sentence(names).startswith(f"S{clause[1:]}; give each machine a name of its own")
    assert shared_sentence(names).endswith(end)


def test_no_shared_name_is_no_sentence() -> None:
    assert (shared_clause([]), shared_sentence([])) == ("", "")
