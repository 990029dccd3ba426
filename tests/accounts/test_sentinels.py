"""Addresses of a server behind sentinels."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.sentinels import Login, Sentinels, WrongAddress, sentinels

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"
NAMES = st.text(LETTERS, min_size=1, max_size=12)
HOSTS = st.lists(st.tuples(NAMES, st.integers(1, 65_535)), min_size=1, max_size=5)
WORDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
LOGINS = st.one_of(
    st.just(Login()),
    st.builds(Login, password=WORDS),
    st.builds(Login, user=WORDS, password=WORDS),
)


def quoted(text: str | None) -> str:
    return quote(text or "", safe="")


@given(hosts=HOSTS, master=NAMES, database=st.integers(0, 15), server=LOGINS, sentinel=LOGINS)
def test_whatever_is_written_is_read(
    hosts: list[tuple[str, int]], master: str, database: int, server: Login, sentinel: Login
) -> None:
    login = f"{quoted(server.user)}:{quoted(server.password)}@" if server.password else ""
    where = ",".join(f"{host}:{port}" for host, port in hosts)
    of_sentinels = (
        f"&sentinel_user={quoted(sentinel.user)}&sentinel_password={quoted(sentinel.password)}"
    )

    found = sentinels(f"sentinel://{login}{where}/{database}?master={master}{of_sentinels}")

    assert found == Sentinels(
        hosts=tuple(hosts),
        master=master,
        database=database,
        server_login=server,
        sentinel_login=sentinel,
    )


def test_ports_and_database_have_the_usual_ones() -> None:
    found = sentinels("sentinel://s1,[fd00::2]?master=queue")

    assert found.hosts == (("s1", 26379), ("fd00::2", 26379))
    assert (found.database, found.server_login, found.sentinel_login) == (0, Login(), Login())


def test_plus_in_a_password_stays_one() -> None:
    found = sentinels("sentinel://:a+b@s1?master=queue&sentinel_password=c+d")

    assert (found.server_login.password, found.sentinel_login.password) == ("a+b", "c+d")


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        pytest.param("s1:26379/0", "names no master", id="no master"),
        pytest.param("s1:26379/0?master=", "names no master", id="empty master"),
        pytest.param("s1:26379/0?master=a%20b", "names no master", id="master with a blank"),
        pytest.param("?master=queue", "HOST or HOST:PORT", id="no sentinel"),
        pytest.param("s1,,s2?master=queue", "HOST or HOST:PORT", id="empty sentinel"),
        pytest.param("s1;s2?master=queue", "HOST or HOST:PORT", id="semicolon"),
        pytest.param("s1:0?master=queue", "HOST or HOST:PORT", id="port 0"),
        pytest.param("s1:65536?master=queue", "HOST or HOST:PORT", id="port too high"),
        pytest.param("s1:a?master=queue", "HOST or HOST:PORT", id="port of letters"),
        pytest.param("fd00::2?master=queue", "HOST or HOST:PORT", id="IPv6 without brackets"),
        pytest.param("s1/one?master=queue", "a database that is no number", id="database"),
        pytest.param("s1/-1?master=queue", "a database that is no number", id="negative"),
        pytest.param("s1/²?master=queue", "a database that is no number", id="no ASCII digit"),
        pytest.param("s1/0?master=queue&db=2", "an option that is not known", id="option"),
        pytest.param("s1?master=a&master=b", "has master twice", id="twice"),
        pytest.param("u@s1?master=queue", "a user without a password", id="no password"),
        pytest.param(
            "s1?master=queue&sentinel_user=u", "a user without a password", id="of sentinels"
        ),
        pytest.param(":p@q@s1?master=queue", "too many", id="two @"),
        pytest.param(":p/q@s1?master=queue", "HOST or HOST:PORT", id="slash in a password"),
        pytest.param("s1?master=queue#0", "too many", id="fragment"),
    ],
)
def test_wrong_address_is_refused_with_what_is_wrong(rest: str, said: str) -> None:
    with pytest.raises(WrongAddress, match=said):
        sentinels(f"sentinel://{rest}")


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(rest: str) -> None:
    try:
        found = sentinels(f"sentinel://{rest}")
    except WrongAddress:
        return

    assert found.hosts
    assert found.master


@given(st.text(LETTERS, min_size=8, max_size=20))
def test_no_refusal_and_no_repr_shows_a_password(tail: str) -> None:
    password = f"SECRET{tail}"
    for rest in (f":{password}@s1", f"s1?sentinel_password={password}", f":{password}@s1:x"):
        with pytest.raises(WrongAddress) as refused:
            sentinels(f"sentinel://{rest}")
        assert password not in str(refused.value)

    assert password not in repr(sentinels(f"sentinel://:{password}@s1?master=queue"))
