"""What is missing is named with how much there is and how much is needed; nothing is no answer."""

from hypothesis import given
from hypothesis import strategies as st

from advisor.core.explanation.answer import Missing
from advisor.core.explanation.too_little import too_little_of

needs = st.lists(
    st.builds(Missing, what=st.text(), have=st.integers(0, 9), need=st.integers(0, 9)), max_size=4
)


@given(needs)
def test_exactly_what_there_is_not_enough_of_is_missing(needed):
    found = too_little_of(needed, about="it", model_version="v1")

    short = tuple(one for one in needed if one.have < one.need)
    assert (found.missing if found else ()) == short


def test_what_is_missing_is_told_with_both_numbers():
    needed = [
        Missing(what=what, have=have, need=3) for what, have in (("a", 1), ("b", 3), ("c", 0))
    ]

    found = too_little_of(needed, about="ds1", model_version="v1")

    assert found.summary == "Too little is known of ds1: a: 1 of 3; c: 0 of 3"
