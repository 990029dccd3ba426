"""The data directory and its limits."""

import os
import socket
from pathlib import Path

import pytest

from config.paths import MAX_SOCKET_PATH_BYTES, DataDir, DataDirError, data_dir


@pytest.mark.parametrize(
    ("user_id", "expected"),
    [
        pytest.param(0, Path("/var/lib/sluice"), id="root, whose home is closed to servers"),
        pytest.param(1000, Path("/home/me/.local/share/sluice"), id="anybody else"),
    ],
)
def test_default_data_directory_depends_on_the_user(monkeypatch, user_id, expected):
    monkeypatch.setattr(os, "geteuid", lambda: user_id)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))

    assert data_dir({}).root == expected


def test_chosen_data_directory_comes_first():
    assert data_dir({"SLUICE_DATA_DIR": "/srv/sluice"}).root == Path("/srv/sluice")


def test_relative_data_directory_becomes_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    assert data_dir({"SLUICE_DATA_DIR": "here"}).root == tmp_path / "here"


def longest_allowed() -> int:
    # "/run/.s.PGSQL.5432" is the longest path below the directory: 18 bytes.
    return MAX_SOCKET_PATH_BYTES - 18


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        pytest.param("/" + "x" * (longest_allowed() - 1), True, id="as long as allowed"),
        pytest.param("/" + "x" * longest_allowed(), False, id="one byte longer"),
        pytest.param("/" + "é" * (longest_allowed() // 2 + 1), False, id="counted in bytes"),
    ],
)
def test_path_too_long_for_a_socket_is_refused_with_the_limit(path, fits):
    data = DataDir(Path(path))

    if fits:
        assert data.check_socket_paths() is None
    else:
        with pytest.raises(DataDirError, match=f"of at most {longest_allowed()} bytes"):
            data.check_socket_paths()


def test_limit_is_the_one_of_the_system():
    name = f"/tmp/{os.getpid()}-".ljust(MAX_SOCKET_PATH_BYTES, "x")

    with socket.socket(socket.AF_UNIX) as fits, socket.socket(socket.AF_UNIX) as too_long:
        fits.bind(name)
        Path(name).unlink()
        with pytest.raises(OSError, match="path too long"):
            too_long.bind(f"{name}x")
