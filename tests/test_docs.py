"""Documents tell the truth about what is there: links, commands, make targets, decisions."""

from __future__ import annotations

import re
import subprocess
import tomllib
from itertools import groupby
from pathlib import Path

import pytest

from appliance.cli import COMMANDS, RENAMED
from appliance.embedded.supervisor import MAX_LOG_BYTES
from config.paths import DataDir

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
FENCE = re.compile(r"```.*?```", re.DOTALL)
COMMAND = re.compile(r"(?:^|[`\s/])sluice ([a-z]+(?:-[a-z]+)*)\b")
LOG_PLACE = re.compile(r"\blogs?(?=/)|[\w-]+(?=/(?:[\w-]+|\*)\.log\b)")
TARGET = re.compile(r"\bmake ([a-z-]+)\b")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def shown_as_code(text: str) -> str:
    """Only what is meant to be typed: fences and inline code."""
    return "\n".join(FENCE.findall(text) + re.findall(r"`[^`\n]+`", text))


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_relative_links_lead_to_files(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]

    missing = [link for link in links if not (document.parent / link).exists()]

    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_commands_in_documents_exist(document: Path) -> None:
    known = {name for group in COMMANDS.values() for name in group}
    if document.name == "CHANGELOG.md":
        known |= set(RENAMED)  # It tells what commands were called.

    named_commands = set(COMMAND.findall(shown_as_code(document.read_text())))

    assert named_commands <= known


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_make_targets_in_documents_exist(document: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(TARGET.findall(shown_as_code(document.read_text()))) <= known


def test_logs_lie_where_documents_say() -> None:
    pages = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.md")}

    places = {(name, place) for name, text in pages.items() for place in LOG_PLACE.findall(text)}

    assert {place for _, place in places} == {DataDir(ROOT).logs.name}
    assert {name for name, _ in places} >= {"monitoring.md", "operations.md"}
    assert f"more than {MAX_LOG_BYTES >> 20} MiB is emptied" in pages["monitoring.md"]


def test_what_was_never_run_names_a_test_that_comes_near() -> None:
    page = (ROOT / "docs/never-run.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]

    named = [re.findall(r"`(tests/[\w/]+\.py)`", row.split(" | ")[-1]) for row in rows]

    assert all(named)
    assert [one for row in named for one in row if not (ROOT / one).is_file()] == []
    for place in ("README.md", "docs/README.md"):
        assert "never-run.md)" in (ROOT / place).read_text()


def test_every_command_of_the_product_is_in_the_table() -> None:
    found = {
        path.stem
        for app in ("accounts", "appliance", "ingest", "advisor", "web")
        for path in (ROOT / app / "management" / "commands").glob("*.py")
        if path.stem != "__init__"
    }

    assert found <= {name for group in COMMANDS.values() for name in group}


def test_decisions_are_numbered_once() -> None:
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))

    numbers = [name[:4] for name in names]
    assert all(re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name) for name in names)
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_layers_are_named_in_the_order_that_is_checked(document: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    apps = next(
        one["layers"]
        for one in contracts["contracts"]
        if one["type"] == "layers" and "containers" not in one
    )

    assert f"`{' > '.join([*apps, 'enforcers.contract'])}`" in (ROOT / document).read_text()


def test_parts_of_the_core_stand_in_the_order_that_is_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (core,) = (one for one in contracts["contracts"] if one.get("containers") == ["advisor.core"])
    folders = {path.parent.name for path in (ROOT / "advisor/core").glob("*/__init__.py")}
    checked = [
        found
        for layer in reversed(core["layers"])
        if (found := folders & {part.strip() for part in layer.split("|")})
    ]

    rows = re.findall(
        r"^\| ([a-z ]+) \| `([a-z]+)/` \|",
        (ROOT / "docs/architecture.md").read_text(),
        re.MULTILINE,
    )
    told = [{part for _, part in layer} for _, layer in groupby(rows, key=lambda row: row[0])]

    assert told == checked
    assert set().union(*told) == folders


def test_files_at_the_top_of_the_core_import_no_folder_of_it() -> None:
    top = sorted((ROOT / "advisor/core").glob("*.py"))

    importing = [
        path.name for path in top if re.search(r"advisor\.core\.\w+\.\w", path.read_text())
    ]

    assert len(top) > 1
    assert importing == []


def test_example_of_a_mechanism_is_the_one_that_is_tested() -> None:
    page = (ROOT / "docs/adding-a-mechanism.md").read_text()

    shown = dict(re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL))
    folder = ROOT / "tests/enforcers/throttle"
    assert shown == {
        "python": (folder / "mechanism.py").read_text(),
        "toml": (folder / "sample.toml").read_text(),
    }


@pytest.mark.parametrize("collector", ["Telegraf", "libvirt", "Proxmox VE", "esxtop"])
def test_readme_connects_a_collector_with_at_most_five_lines(collector: str) -> None:
    text = (ROOT / "README.md").read_text().partition("## Connect hosts\n")[2]

    block = text.partition(f"\n**[{collector}](")[2].partition("```")[2].partition("\n")[2]
    block = block.partition("```")[0]

    assert 1 <= len(block.splitlines()) <= 5
    if block.startswith("["):
        output = tomllib.loads(block)["outputs"]["influxdb_v2"]
        assert [sorted(one) for one in output] == [["token", "urls"]]


def test_readme_is_short_and_begins_with_two_commands() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()

    assert lines[2].startswith("```")
    assert lines[3:6] == ["make run", "sudo make demo", "```"]
    assert len(lines) <= 120
