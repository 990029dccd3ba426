"""The measure of the tests: faults are planted, found or survive, and no file changes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from bench.mutation.__main__ import known_equivalents, sample
from bench.mutation.imports import Importers
from bench.mutation.journal import Journal
from bench.mutation.mutants import Mutant, count_mutants, describe
from bench.mutation.trial import Verdict

# It measures the tests, and is in no program that anybody else runs.
pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
# Three faults: it returns None, `>` stands for `>=`, and 11 for 10.
LARGE = "def is_large(count: int) -> bool:\n    return count >= 10\n"
COUNTDOWN = """
    def countdown(count: int) -> int:
        while count > 0:
            count -= 1
        return count
"""


def mutants_of(source: str, path: str = "m.py") -> list[Mutant]:
    return [describe(path, source, number) for number in range(count_mutants(source))]


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("a < b", ["a <= b"]),
        ("a == b", ["a != b"]),
        ("a is b is not c", ["a is not b is not c", "a is b is c"]),
        ("a in b", ["a not in b"]),
        ("a + b * c", ["a - b * c", "a + b / c"]),
        ("a += b", ["a -= b"]),
        ("a and b", ["a or b"]),
        ("-a", ["+a"]),
        ("a = 3", ["a = 4"]),
        ("a = 0.5", ["a = 1.0"]),
        ("a = True", ["a = False"]),
        ("if a:\n    b", ["if not a:"]),
        ("a if not b else c", ["a if b else c"]),
        ("[a for a in b if a]", ["[a for a in b if not a]"]),
        ("def f(a):\n    return a", ["return None"]),
    ],
)
def test_fault_changes_one_thing(source: str, changes: list[str]) -> None:
    assert [mutant.after for mutant in mutants_of(source)] == changes


@pytest.mark.parametrize(
    "source",
    [
        '"a text"',
        "a: int | None",
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "@dataclass(frozen=True)\nclass A: ...",
        "assert a < 3",
        'log.info("read", extra={"count": 3})',
        "Write = Command | FileWrite",
        "zip(a, b, strict=True)",
        "json.dumps(a, indent=2)",
        "def f():\n    return None",
    ],
)
def test_what_no_test_could_notice_has_no_fault(source: str) -> None:
    assert mutants_of(source) == []


def test_fault_is_shown_with_its_line_and_what_is_around_it() -> None:
    far = "x" * 100

    [fault] = mutants_of(f"a\nb = {far} + {far}")

    assert fault.line == 2
    # Forty characters on either side of the sign.
    assert (fault.before, fault.after) == tuple(
        f"{'x' * 39} {sign} {'x' * 39}" for sign in ("+", "-")
    )


def test_sample_is_chosen_by_the_seed_and_stays_where_other_modules_change(
    tmp_path: Path,
) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("".join(f"a = {value}\n" for value in range(100)))
    other.write_text("".join(f"b = {value}\n" for value in range(100)))

    def chosen(seed: int) -> dict[str, list[int]]:
        found = sample([str(tmp_path)], seed=seed, count=100)
        assert len(found) == 100
        return {str(m): [f.line for f in found if f.path == str(m)] for m in (one, other)}

    first, second = chosen(1), chosen(2)
    assert first == chosen(1) != second
    # About a half of each; one line less there is one fault less.
    assert all(30 < len(lines) < 70 for lines in first.values())
    one.write_text(one.read_text().removesuffix("a = 99\n"))
    assert set(first[str(other)]) <= set(chosen(1)[str(other)])


def plant(root: Path, *, source: str, tests: str) -> None:
    """A product of one module, and its tests."""
    for name, text in {
        "enforcers/__init__.py": "",
        "enforcers/planted.py": dedent(source),
        "tests/test_planted.py": dedent(tests),
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['--import-mode=importlib']\n",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)


def started(root: Path, *options: str) -> subprocess.Popen[str]:
    """The program at work on the planted product."""
    environment = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    return subprocess.Popen(
        [sys.executable, "-m", "bench.mutation", "--paths", "enforcers", "--jobs", "1", *options],
        cwd=root,
        env=environment | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def measure(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the program on the planted product."""
    process = started(root, *options)
    stdout, stderr = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def asked_at(*counts: int) -> str:
    """A test of `is_large` at these counts."""
    return f"""
        from enforcers.planted import is_large

        def test_large() -> None:
            assert [is_large(count) for count in {counts}] == [count >= 10 for count in {counts}]
    """


@pytest.mark.slow
def test_survivors_are_listed_and_fail_the_run(tmp_path: Path) -> None:
    plant(tmp_path, source=LARGE, tests=asked_at(9, 11))

    result = measure(tmp_path, "--json", "rows.json")

    assert result.returncode == 1
    assert (
        "enforcers/planted.py:2\n    - return count >= 10\n    + return count > 10"
        in result.stdout
    )
    assert "+ return count >= 11" in result.stdout
    assert "+ return None" not in result.stdout
    row = {"unit": "ratio", "asked": 0.95, "measured": pytest.approx(1 / 3), "holds": False}
    assert json.loads((tmp_path / "rows.json").read_text()) == [
        {"what": "killed mutants, enforcers", **row},
        {"what": "killed mutants, all packages", **row},
    ]


@pytest.mark.slow
def test_killed_mutants_pass_the_run_and_no_file_changes(tmp_path: Path) -> None:
    plant(tmp_path, source=LARGE, tests=asked_at(9, 10))
    before = {path: path.read_text() for path in tmp_path.rglob("*.py")}

    result = measure(tmp_path)

    assert result.returncode == 0, result.stderr
    assert "Survivors" not in result.stdout
    # Mutants, killed, equivalent, survived.
    assert result.stdout.splitlines()[-1].split()[-4:] == ["3", "3", "0", "0"]
    assert {path: path.read_text() for path in tmp_path.rglob("*.py")} == before


@pytest.mark.slow
def test_equivalent_mutants_are_not_asked_for(tmp_path: Path) -> None:
    plant(tmp_path, source=LARGE, tests=asked_at(9, 11))
    (tmp_path / "known.toml").write_text(
        "".join(
            '[[equivalent]]\nfile = "enforcers/planted.py"\nbefore = "return count >= 10"\n'
            f'after = "return count {after}"\nreason = "nobody counts to ten"\n'
            for after in ("> 10", ">= 11")
        )
    )

    result = measure(tmp_path, "--equivalents", "known.toml")

    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].split()[-4:] == ["3", "1", "2", "0"]


@pytest.mark.slow
def test_endless_mutant_is_ended_and_counts_as_killed(tmp_path: Path) -> None:
    test = "from enforcers.planted import countdown\ndef test_end(): assert countdown(3) == 0\n"
    plant(tmp_path, source=COUNTDOWN, tests=test)

    result = measure(tmp_path, "--limit", "8")

    assert "count -= 1" not in result.stdout


@pytest.mark.slow
def test_stopped_run_shows_what_it_has_and_the_next_goes_on_from_there(tmp_path: Path) -> None:
    test = "from enforcers.planted import countdown\ndef test_end(): assert countdown(3) == 0\n"
    plant(tmp_path, source=COUNTDOWN, tests=test)
    journal = tmp_path / "verdicts"

    process = started(tmp_path, "--journal", "verdicts")
    # The third fault counts upwards, so the run is in it for long.
    while not (journal.exists() and journal.read_text().count("\n") >= 2):
        time.sleep(0.1)
    # Python drops what a handler raises in the middle of a fork, so the third has to run by then.
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    stdout, _ = process.communicate()

    assert process.returncode == 1
    killed = journal.read_text().count("\n")
    assert 2 <= killed < 6
    # Mutants, killed, equivalent, survived.
    assert stdout.splitlines()[-2].split()[-4:] == [str(killed), str(killed), "0", "0"]
    assert stdout.splitlines()[-1] == f"stopped: {6 - killed} of 6 mutants have no verdict"

    result = measure(tmp_path, "--journal", "verdicts", "--limit", "8")

    assert f"{killed} of 6 were killed before" in result.stderr
    assert result.stdout.splitlines()[3].split()[-4:] == ["6", "6", "0", "0"]


def test_journal_knows_kills_of_a_module_until_it_changes(tmp_path: Path) -> None:
    module, file = tmp_path / "m.py", tmp_path / "verdicts"
    module.write_text(LARGE)
    none, larger, eleven = mutants_of(LARGE, str(module))
    journal = Journal(file)
    for mutant, verdict in {
        none: Verdict.KILLED,
        larger: Verdict.SURVIVED,
        eleven: Verdict.TIMED_OUT,
    }.items():
        journal.add(mutant, verdict)

    again = Journal(file)

    assert [again.has_killed(mutant) for mutant in (none, larger, eleven)] == [True, False, False]

    module.write_text(f"{LARGE}# and a comment\n")

    assert not again.has_killed(none)


@pytest.mark.slow
def test_tests_that_fail_without_a_fault_measure_nothing(tmp_path: Path) -> None:
    plant(tmp_path, source=LARGE, tests="def test_broken():\n    assert False\n")
    (tmp_path / "tests/test_planted.py").write_text(
        "import enforcers.planted\ndef test_broken():\n    assert False\n"
    )

    result = measure(tmp_path)

    assert result.returncode == 1
    assert "fail without any fault" in result.stderr


def test_nearest_tests_come_first_helpers_are_no_step_and_pages_lead_to_none(
    tmp_path: Path,
) -> None:
    for name, text in {
        "advisor/inner.py": "",
        "advisor/outer.py": "from advisor import inner",
        "tests/rig.py": "from advisor.inner import thing",
        "tests/test_rigged.py": "from tests.rig import thing",
        "tests/test_inner.py": "def test(): import advisor.inner",
        "tests/test_outer.py": "from advisor.outer import thing",
        "web/page.py": "from advisor.inner import thing",
        "tests/test_page.py": "from web.page import thing",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    importers = Importers(tmp_path, ["advisor", "tests", "web"], through=["advisor"])

    every = ("tests/test_inner.py", "tests/test_outer.py", "tests/test_rigged.py")
    assert importers.tests_that_reach("advisor.inner") == every
    assert importers.tests_of("advisor.inner", among=every) == (
        ("tests/test_inner.py", "tests/test_rigged.py"),
        ("tests/test_outer.py",),
    )
    assert importers.tests_of("advisor.outer", among=every) == (("tests/test_outer.py",), ())
    # Where those that import a module need a service, the next take their place.
    assert importers.tests_of("advisor.inner", among=every[1:2]) == (("tests/test_outer.py",), ())


@pytest.mark.parametrize("path", sorted({key[0] for key in known_equivalents()}))
def test_listed_equivalent_is_a_mutant_of_its_file_and_has_a_reason(path: str) -> None:
    listed = {key: reason for key, reason in known_equivalents().items() if key[0] == path}

    mutants = mutants_of((ROOT / path).read_text(), path)

    assert listed.keys() <= {(path, mutant.before, mutant.after) for mutant in mutants}
    assert all(len(reason.split()) > 3 for reason in listed.values())
