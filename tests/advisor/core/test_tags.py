"""What a tag is."""

from __future__ import annotations

import pytest

from advisor.core.tags import LONGEST_TAG, MOST_TAGS, problem_of_tag, problems_of_tags, read_tags


@pytest.mark.parametrize("text", ["label.team=shop", "tag=prod", "pool=a b", "label.a=b=c"])
def test_tag_is_a_key_that_is_known_and_a_value(text: str) -> None:
    assert problem_of_tag(text) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("shop", "is no tag"),
        ("label.team=", "is no tag"),
        ("team=shop", "is no key of a tag"),
        ("label.=shop", "is no key of a tag"),
        ("Label.team=shop", "is no key of a tag"),
        ("label.team=a\nb", "can be printed"),
        ("label.team=" + "a" * LONGEST_TAG, "up to 300 letters"),
    ],
)
def test_what_is_no_tag_says_why(text: str, why: str) -> None:
    assert why in str(problem_of_tag(text))


def test_more_tags_than_fit_are_refused() -> None:
    tags = [f"tag={number}" for number in range(MOST_TAGS + 1)]

    assert problems_of_tags(tags[1:]) == []
    assert problems_of_tags(tags) == ["there are 101 tags; there may be 100"]


def test_lines_are_tags() -> None:
    assert read_tags(" tag=a\r\n\n label.team=the shop \n") == ["tag=a", "label.team=the shop"]
