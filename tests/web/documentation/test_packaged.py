"""A built package has all pages, so a server without the repository shows them too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.web.documentation.conftest import forget
from web.documentation import sources

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_package_has_every_page_and_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget()
    pages, files = sources.page_paths(), sources.file_paths()

    subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build_py", f"--build-lib={tmp_path}"],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip

    # There is no checkout around an installed package.
    monkeypatch.setattr(sources, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(sources, "COPY", tmp_path / "web/documentation/copy")
    forget()
    assert sources.root() == tmp_path / "web/documentation/copy"
    assert (sources.page_paths(), sources.file_paths()) == (pages, files)
    monkeypatch.undo()
    forget()


def test_without_its_pages_nothing_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(sources, "COPY", tmp_path)
    forget()

    assert sources.page_paths() == ()
    monkeypatch.undo()
    forget()
