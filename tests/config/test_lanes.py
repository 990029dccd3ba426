"""Lanes of the test suite itself, seen from runs of small suites."""

import pytest

pytest_plugins = ["pytester"]

NOTHING_RAN = pytest.ExitCode.NO_TESTS_COLLECTED
CONFTEST = """
from tests import lanes

def pytest_configure(config):
    config.addinivalue_line("markers", "moon")
    config.addinivalue_line("markers", "sun")
    config.pluginmanager.register(lanes.Lanes(lanes.required_lanes("REQUIRED")))
"""
SUITE = """
import pytest

@pytest.mark.moon
def test_tide(): pass

@pytest.mark.sun
def test_shadow(): assert False, "never runs"

def test_plain(): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    def run(required: str, *arguments: str, suite: str = SUITE) -> pytest.RunResult:
        lanes = {"moon": lambda: None, "sun": lambda: "it is night"}
        monkeypatch.setattr("tests.lanes.LANES", lanes)
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        pytester.makeconftest(CONFTEST.replace("REQUIRED", required))
        pytester.makepyfile(suite)
        return pytester.runpytest_inprocess(*arguments)

    return run


def test_missing_lane_is_skipped_by_name_and_reason(suite):
    result = suite("")

    assert result.ret == 0
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "lane moon: 1 tests ran",
            "lane sun: skipped (1 tests), because it is night",
        ]
    )


@pytest.mark.parametrize("required", ["sun", "all"])
def test_required_lane_that_is_missing_fails_the_run(suite, required):
    result = suite(required)

    assert result.ret == NOTHING_RAN
    result.stdout.fnmatch_lines(
        ["ERROR: lane sun was required but skipped (1 tests), because it is night"]
    )


def test_required_lane_that_ran_does_not_fail_the_run(suite):
    result = suite("moon")

    assert result.ret == 0


SKIPPING = SUITE.replace("test_tide(): pass", "test_tide(): pytest.skip('no boat')")


@pytest.mark.parametrize("required", ["moon", "all"])
def test_test_of_a_required_lane_that_skips_itself_fails(suite, required):
    result = suite(required, "-k", "tide", suite=SKIPPING)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*lane moon was required but the test skipped itself: Skipped: no boat"]
    )


def test_test_of_a_lane_that_is_not_required_may_skip_itself(suite):
    result = suite("sun", "-k", "tide", suite=SKIPPING)

    result.assert_outcomes(skipped=1)


def test_test_of_a_required_lane_that_does_not_apply_is_skipped(suite):
    beside = "\n@pytest.mark.moon\ndef test_ebb(): pass\n"
    skipping = SKIPPING.replace("no boat", "does not apply: the other shore") + beside

    result = suite("moon", suite=skipping)

    assert result.ret == 0
    result.assert_outcomes(passed=2, skipped=2)


def test_required_lane_whose_tests_all_do_not_apply_fails_the_run(suite):
    result = suite("moon", suite=SKIPPING.replace("no boat", "does not apply"))

    assert result.ret == NOTHING_RAN
    result.stdout.fnmatch_lines(
        ["ERROR: lane moon was required but all of its 1 tests were skipped"]
    )


def test_required_lane_without_tests_fails_the_run(suite):
    result = suite("moon", "-k", "plain")

    assert result.ret == NOTHING_RAN
    result.stdout.fnmatch_lines(["ERROR: lane moon was required but the run has no test of it"])


def test_unknown_required_lane_is_refused(suite):
    result = suite("stars")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*SLUICE_REQUIRE_LANES names stars; there are all, moon, sun"])
