"""Lanes: what a test needs beside Python. A lane that is missing skips its tests by name.

The end of a run says for each lane how many tests ran, or why they did not.
SLUICE_REQUIRE_LANES=all, as in CI, fails the run for a lane in which no test ran, and fails each
test of a required lane that skips itself, unless its reason begins with `does not apply`.
SLUICE_TEST_DATABASE=timescaledb runs the database's tests on TimescaleDB: the lane of that run.
"""

import functools
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Generator

import pytest

from advisor.reports.pdf import PROGRAM
from appliance.embedded.errors import NoServerProgram
from appliance.embedded.postgres_programs import choose_programs
from appliance.embedded.valkey import find_valkey
from tests.chart.programs_here import missing_for_chart
from tests.testbed.programs import missing_for_guests, missing_for_libvirt, missing_for_vcenter

DATABASE_FIXTURES = frozenset({"db", "transactional_db", "live_server", "postgres_server"})
ALL = "all"
DOES_NOT_APPLY = "does not apply"
"""How a test says that nothing is lacking: it is of another database, user or kernel than here."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OF_ANY_DATABASE = ("tests/accounts", "tests/web/api", "tests/advisor/policy_file")
"""Folders of tests of people and of what they state; samples are in tables of other tests."""
ON_TIMESCALEDB = os.environ.get("SLUICE_TEST_DATABASE") == "timescaledb"


def _postgres() -> str | None:
    try:
        choose_programs()
    except NoServerProgram as error:
        return str(error)
    return None


def _timescaledb() -> str | None:
    if not ON_TIMESCALEDB:
        return "this run is on plain PostgreSQL; set SLUICE_TEST_DATABASE=timescaledb"
    try:
        choose_programs(timescaledb=True)
    except NoServerProgram as error:
        return str(error)
    return None


def _valkey() -> str | None:
    try:
        find_valkey()
    except NoServerProgram as error:
        return str(error)
    return None


def _telegraf() -> str | None:
    from appliance.embedded.telegraf import find_telegraf

    return None if find_telegraf() else "no Telegraf; make telegraf obtains it"


def _browser() -> str | None:
    return None if find_browser() else f"none of {', '.join(BROWSERS)} is on PATH"


def _pdf() -> str | None:
    """What the renderer of reports lacks here."""
    made = subprocess.run(
        PROGRAM, input=b"<p>text</p>", capture_output=True, timeout=60, check=False
    )
    said = made.stderr.decode(errors="replace").strip().splitlines()
    return None if made.returncode == 0 else (said or ["it ended without a word"])[-1]


def _prometheus() -> str | None:
    return None if shutil.which("promtool") else "no promtool (package prometheus)"


def _root() -> str | None:
    if os.geteuid() != 0:
        return "not root"
    if shutil.which("tc") is None or shutil.which("ip") is None:
        return "no ip and tc (package iproute2)"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "network namespaces cannot be made here"


def _guests() -> str | None:
    return _root() or missing_for_guests()


# Each answers why its lane is missing; None means that it is there.
LANES: dict[str, Callable[[], str | None]] = {
    "postgres": _postgres,
    "timescaledb": _timescaledb,
    "valkey": _valkey,
    "telegraf": _telegraf,
    "browser": _browser,
    "pdf": _pdf,
    "prometheus": _prometheus,
    "root": _root,
    "guests": _guests,
    "vcenter": missing_for_vcenter,
    "libvirt": missing_for_libvirt,
    "chart": missing_for_chart,
}


def find_browser() -> str | None:
    """The machine's Chromium."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


class Lanes:
    """Skips the tests of missing lanes, counts those that ran, and tells."""

    def __init__(self, required: frozenset[str]) -> None:
        self.required = required
        self.missing = functools.cache(lambda lane: LANES[lane]())
        self.ran: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Give database tests their lane, then skip what cannot run; -m selects after this."""
        for item in items:
            if _uses_database(item):
                item.add_marker("postgres")
                if str(item.path.parent.relative_to(item.config.rootpath)) in OF_ANY_DATABASE:
                    item.add_marker("any_database")
                if ON_TIMESCALEDB:
                    item.add_marker("timescaledb")
        for item in items:
            for lane in LANES:
                if item.get_closest_marker(lane):
                    # Reports carry it to the process that counts, when there are several.
                    item.user_properties.append(("lane", lane))
                    if reason := self.missing(lane):
                        item.add_marker(pytest.mark.skip(reason=f"lane {lane}: {reason}"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail a test of a required lane that skips itself: what it needs is lacking."""
        report = yield
        if (
            report.skipped
            and (lane := self._broken_by(item))
            and isinstance(report.longrepr, tuple)
        ):
            *_, why = report.longrepr
            if not why.removeprefix("Skipped: ").startswith(DOES_NOT_APPLY):
                report.outcome = "failed"
                report.longrepr = f"lane {lane} was required but the test skipped itself: {why}"
        return report

    def _broken_by(self, item: pytest.Item) -> str | None:
        """The test's first lane that is required, if nothing is missing of any of them."""
        lanes = [lane for lane in LANES if item.get_closest_marker(lane)]
        if any(self.missing(lane) for lane in lanes):
            return None
        return next((lane for lane in lanes if self.required & {lane, ALL}), None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test once: when it is skipped, or when its body has run."""
        lanes = [str(value) for name, value in report.user_properties if name == "lane"]
        if report.skipped:
            self.skipped.update(lanes)
        elif report.when == "call":
            self.ran.update(lanes)

    def broken_promises(self) -> list[str]:
        """The required lanes in which nothing ran, with the reason."""
        return [
            f"lane {lane} was required but {self._story(lane)}"
            for lane in sorted(self.touched() if ALL in self.required else self.required)
            if not self.ran[lane]
        ]

    def touched(self) -> list[str]:
        """The lanes that the run's tests asked for."""
        return [lane for lane in LANES if self.ran[lane] or self.skipped[lane]]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run for a required lane in which nothing ran; no second try cures it."""
        counts = not session.config.option.collectonly and not hasattr(
            session.config, "workerinput"
        )
        if counts and self.broken_promises():
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what happened in each lane that the run touched."""
        if self.touched() or self.broken_promises():
            terminalreporter.section("lanes")
        for lane in self.touched():
            terminalreporter.line(f"lane {lane}: {self._story(lane)}")
        for promise in self.broken_promises():
            terminalreporter.line(f"ERROR: {promise}", red=True)

    def _story(self, lane: str) -> str:
        if reason := self.missing(lane):
            return f"skipped ({self.skipped[lane]} tests), because {reason}"
        if self.ran[lane]:
            also = f", {self.skipped[lane]} skipped" if self.skipped[lane] else ""
            return f"{self.ran[lane]} tests ran{also}"
        if self.skipped[lane]:
            return f"all of its {self.skipped[lane]} tests were skipped"
        return "the run has no test of it"


def _uses_database(item: pytest.Item) -> bool:
    if item.get_closest_marker("django_db"):
        return True
    return not DATABASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def required_lanes(wish: str) -> frozenset[str]:
    """The lanes that SLUICE_REQUIRE_LANES names; `all` is every lane that a test asks for."""
    names = frozenset(name.strip() for name in wish.split(",") if name.strip())
    if unknown := names - LANES.keys() - {ALL}:
        raise pytest.UsageError(
            f"SLUICE_REQUIRE_LANES names {', '.join(sorted(unknown))}; "
            f"there are {ALL}, {', '.join(LANES)}"
        )
    return names
