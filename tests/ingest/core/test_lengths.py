"""Texts that are too long for their column are cut with an ellipsis."""

from __future__ import annotations

import pytest

from ingest.core.lengths import shortened


@pytest.mark.parametrize(
    ("text", "shown"), [("", ""), ("four", "four"), ("fives", "fiv\N{HORIZONTAL ELLIPSIS}")]
)
def test_text_of_more_than_four_characters_is_cut_to_four(text: str, shown: str) -> None:
    assert shortened(text, 4) == shown
