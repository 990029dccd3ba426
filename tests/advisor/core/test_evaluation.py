"""The committed evaluation of models is what the evaluation says today."""

import re

import pytest

NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(900)
def test_committed_evaluation_is_fresh(shared_dir):
    from bench.evaluate_models import DOCUMENT, document

    fresh, committed = document(), DOCUMENT.read_text()

    assert NUMBER.sub("#", fresh) == NUMBER.sub("#", committed), (
        "run bench.evaluate_models --write"
    )
    # The last digit may differ between machines, whose sums round differently.
    for new, old in zip(NUMBER.findall(fresh), NUMBER.findall(committed), strict=True):
        last_digit = 10.0 ** -len(old.partition(".")[2])
        assert float(new) == pytest.approx(float(old), abs=1.01 * last_digit)
