"""Keys outside the database: made once, stated, and refused without being shown."""

from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from config.encryption_keys import encryption_keys, new_key
from config.env import SettingError
from config.signing_keys import signing_keys

NAMES = ("SLUICE_ENCRYPTION_KEYS", "SLUICE_SIGNING_KEYS")


@pytest.fixture(autouse=True)
def nothing_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


@pytest.mark.parametrize("keys", [encryption_keys, signing_keys])
def test_key_is_made_once_for_its_owner_alone(keys, tmp_path: Path) -> None:
    path = tmp_path / "data" / "keys"

    first = keys(path)

    assert keys(path) == first
    assert len(first) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_key_that_is_made_is_one_of_fernet() -> None:
    assert Fernet(new_key())


@pytest.mark.parametrize("between", [",", "\n", " , ", "\n\n"])
def test_stated_keys_come_newest_first(
    between: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = new_key(), new_key()
    monkeypatch.setenv("SLUICE_ENCRYPTION_KEYS", f"{new}{between}{old}\n")

    assert encryption_keys(tmp_path / "keys") == [new, old]
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize("word", ["short", "x" * 44, "ü" * 43 + "="])
def test_word_that_is_no_key_is_refused_and_not_shown(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_ENCRYPTION_KEYS", f"{new_key()},{word}")

    with pytest.raises(SettingError, match="word 2 is no key") as caught:
        encryption_keys(tmp_path / "keys")

    assert word not in str(caught.value)


def test_emptied_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("\n")

    with pytest.raises(SettingError, match="put it back from a backup"):
        encryption_keys(tmp_path / "keys")
