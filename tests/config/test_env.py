"""Readers of the environment."""

import pytest

from config import env


@pytest.mark.parametrize("word", ["1", "true", "YES", " on "])
def test_boolean_reads_words_for_true(word):
    assert env.boolean("X", default=False, environ={"X": word}) is True


@pytest.mark.parametrize("word", ["0", "false", "No", "off"])
def test_boolean_reads_words_for_false(word):
    assert env.boolean("X", default=True, environ={"X": word}) is False


@pytest.mark.parametrize("environ", [{}, {"X": ""}])
def test_unset_and_empty_give_the_default(environ):
    assert env.boolean("X", default=True, environ=environ) is True
    assert env.integer("X", 7, environ=environ) == 7
    assert env.text("X", "d", environ=environ) == "d"
    assert env.secret("X", environ=environ) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("many", "'many' is not a whole number", id="no number"),
        pytest.param("1.5", "not a whole number", id="fraction"),
        pytest.param("9", "too small; use 10 or more", id="below the minimum"),
    ],
)
def test_integer_refuses_with_the_name_and_what_is_allowed(value, message):
    with pytest.raises(env.SettingError, match=f"^X=.*{message}"):
        env.integer("X", 20, minimum=10, environ={"X": value})


def test_integer_accepts_its_minimum():
    assert env.integer("X", 20, minimum=10, environ={"X": "10"}) == 10


def test_boolean_refuses_another_word():
    with pytest.raises(env.SettingError, match=r"X='maybe' is neither true nor false"):
        env.boolean("X", default=True, environ={"X": "maybe"})


def test_words_are_split_at_commas():
    assert env.words("X", "", environ={"X": "a, b,,c "}) == ["a", "b", "c"]


def test_secret_is_read_from_the_file_it_names(tmp_path):
    file = tmp_path / "secret"
    file.write_text("hush\n")

    assert env.secret("X", environ={"X_FILE": str(file)}) == "hush"


def test_secret_given_twice_is_refused(tmp_path):
    with pytest.raises(env.SettingError, match="X and X_FILE are both set"):
        env.secret("X", environ={"X": "a", "X_FILE": str(tmp_path)})


def test_secret_in_a_missing_file_is_refused(tmp_path):
    with pytest.raises(env.SettingError, match=r"X_FILE=.*cannot be read: No such file"):
        env.secret("X", environ={"X_FILE": str(tmp_path / "absent")})


def test_choice_is_one_of_the_allowed_words():
    allowed = ["owner", "web"]

    assert env.choice("ROLE", "owner", allowed, environ={}) == "owner"
    assert env.choice("ROLE", "owner", allowed, environ={"ROLE": "web"}) == "web"
    with pytest.raises(env.SettingError, match="ROLE='admin' is not known; use one of owner, web"):
        env.choice("ROLE", "owner", allowed, environ={"ROLE": "admin"})
