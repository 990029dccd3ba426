"""From a pasted line to a report in the post, as people go, on the whole product.

`sluice run` on an empty folder, a host in network namespaces, the agent that the line installs,
Chromium, a mail server and a webhook: nothing here asks the database but the last step, which
compares the report with plain SQL. The lengths are those of the policy: stages, settling, windows.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright
from pypdf import PdfReader

from appliance.demo.service import Service, free_port, running_service
from appliance.embedded.first_run import ADMIN_NAME
from appliance.embedded.postgres_cluster import ROLE
from config.paths import POSTGRES_PORT, DataDir
from tests.advisor.notifications.receivers import MailSink, WebSink, mail_sink, web_sink
from tests.lanes import find_browser
from tests.web.in_browser.visit import DESKTOP, Visit, visit
from tests.whole_way.site import HOST, UPLINK, WIRE_MBIT, Site, site

pytestmark = [
    pytest.mark.root,
    pytest.mark.browser,
    pytest.mark.valkey,
    pytest.mark.postgres,
    pytest.mark.pdf,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not os.environ.get("SLUICE_WHOLE_WAY"),
        reason="does not apply: eight minutes of an idle machine; make whole-way runs it",
    ),
]
PHONE: ViewportSize = {"width": 390, "height": 844}
MOST_S = 480.0
CALM_S = 40.0
RESERVED_MBIT = 9
DATABASE = "sluice"


@dataclass
class Way:
    """What the way goes through: the product, the host, and who is told."""

    service: Service
    host: Site
    letters: MailSink
    posts: WebSink
    browser: Browser
    password: str
    folder: Path

    def wait(self, holds: Callable[[], bool], *, what: str, most_s: float) -> None:
        deadline = time.monotonic() + most_s
        while not holds():
            assert time.monotonic() < deadline, f"not in {most_s:.0f} s: {what}"
            time.sleep(0.5)

    def letter(self, words: str, *, most_s: float) -> EmailMessage:
        """The first letter with these words in its subject."""

        def found() -> list[EmailMessage]:
            return [one for one in self.letters.letters if words in str(one["Subject"])]

        subjects = "a letter with “" + words + "”"
        self.wait(lambda: bool(found()), what=subjects, most_s=most_s)
        return found()[0]


@pytest.fixture
def way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Way]:
    # Where the product runs as another user, its folders are entered by it.
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    port = free_port()
    with ExitStack() as stack:
        letters, posts = stack.enter_context(mail_sink()), stack.enter_context(web_sink())
        service = stack.enter_context(
            running_service(
                DataDir(tmp_path / "data"), user=ADMIN_NAME, port=port,
                environment={
                    "SLUICE_URL": f"http://127.0.0.1:{port}",
                    "SLUICE_MAIL_URL": f"smtp://127.0.0.1:{letters.port}",
                    "SLUICE_NOTIFY_INSIDE": "1",
                },
            )
        )  # fmt: skip
        host = stack.enter_context(site(tmp_path))
        host.reach(port, service.data.web_socket)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        stack.callback(browser.close)
        said = (tmp_path / "sluice-run.log").read_text()
        (password,) = re.findall(r"with the password (\S+)", said)
        yield Way(
            service=service, host=host, letters=letters, posts=posts, browser=browser,
            password=password, folder=tmp_path,
        )  # fmt: skip


def log_in(tab: Visit, way: Way) -> None:
    tab.page.get_by_label("Username").fill(ADMIN_NAME)
    tab.page.get_by_label("Password").fill(way.password)
    tab.page.get_by_role("button", name="Log in", exact=True).click()


def test_host_is_connected_an_incident_fixed_and_the_effect_reported(way: Way) -> None:
    began = time.monotonic()
    found = way.host.uplink()
    with visit(way.browser, way.service.url, size=DESKTOP) as desk:
        desk.go("/login/")
        log_in(desk, way)
        secret = be_told(desk, way)
        hurry(desk)
        connect(desk, way)
        promise(desk)
        time.sleep(CALM_S)
        way.host.send("etl-03")
        review = told_of_incident(way, secret)
        with visit(way.browser, way.service.url, size=PHONE) as phone:
            approve(phone, way, review)
            watch(phone, way)
        assert phone.complaints == []
        # The report counts whole minutes.
        time.sleep(130 - time.time() % 60)
        way.host.stop_sending("etl-03")
        mailed = report(desk, way)
        told_of_the_end(way)
        assert desk.complaints == []
    compare(mailed, way.service.data)
    took_s = time.monotonic() - began
    way.host.press_ctrl_c()
    assert without_counters(way.host.uplink()) == without_counters(found)
    assert took_s <= MOST_S


def be_told(tab: Visit, way: Way) -> str:
    """Mail and a webhook for whatever is congested; the secret of the webhook."""
    page, secret = tab.page, ""
    places = (("ops", "mail", "ops@example.org"), ("hook", "webhook", f"{way.posts.url}/hook"))
    for name, kind, address in places:
        tab.go("/settings/notifications/")
        page.locator("#channel-name").fill(name)
        page.locator("#channel-kind").select_option(kind)
        page.locator("#channel-address").fill(address)
        page.get_by_role("button", name="Set the channel").click()
        if kind == "webhook":
            secret = page.get_by_label("Secret of hook").input_value()
        page.locator("#rule-name").fill(f"all by {name}")
        page.locator("#rule-channel").select_option(name)
        page.get_by_role("button", name="Set the rule").click()
        expect(page.get_by_role("rowheader", name=f"all by {name}")).to_be_visible()
    return secret


def hurry(tab: Visit) -> None:
    """Short stages: nobody waits for hours in a test."""
    tab.go("/settings/ladder/")
    tab.page.get_by_text("Change the terms").click()
    for field, minutes in (("stage", "0.2"), ("longest", "1"), ("settle", "0.1")):
        tab.page.locator(f"#terms-{field}").fill(minutes)
    tab.page.get_by_role("button", name="Set the terms").click()
    expect(tab.page.get_by_text("A stage lasts 12 s at least")).to_be_visible()


def connect(tab: Visit, way: Way) -> None:
    """Paste the line on the host, and follow it until its virtual machines are named."""
    page = tab.page
    tab.go("/hosts/connect/")
    page.get_by_label("Platform").select_option("foreground")
    page.locator("#join-mode").select_option("enforce")
    page.get_by_role("button", name="Make the line").click()
    line = page.get_by_label("For 1 host").input_value()
    way.host.send("db-01")
    way.host.send("web-02")
    # Who is root leaves `sudo` out, as the page says.
    way.host.paste(line.replace("| sudo sh", "| sh"))
    expect(page.get_by_role("heading", name=HOST), way.host.said()).to_be_visible(timeout=60_000)
    expect(page.get_by_text("3 VMs")).to_be_visible(timeout=60_000)


def promise(tab: Visit) -> None:
    """State what the wire carries, and what the database is promised of it."""
    page, uplink = tab.page, f"{HOST}/{UPLINK}"
    tab.go("/networks/")
    page.get_by_role("link", name=uplink).first.click()
    page.get_by_role("button", name=f"Settings… of {uplink}").click()
    page.locator("#set-capacity").fill(f"{WIRE_MBIT}Mbit")
    page.locator("#set-window").fill("2")
    page.get_by_role("button", name="State", exact=True).click()
    expect(page.get_by_text("20.0 Mbit/s").first).to_be_visible()
    tab.go("/workloads/")
    page.get_by_role("link", name="db-01").first.click()
    page.get_by_text("State its tier").click()
    page.locator("#tier").select_option("high")
    page.locator("details[open]").get_by_role("button").click()
    expect(page.get_by_text("db-01 is of the high tier")).to_be_visible()
    page.get_by_text(f"State what it is promised on {uplink}").click()
    page.locator("details[open]").get_by_label("Reservation").fill(f"{RESERVED_MBIT}Mbit")
    page.locator("details[open]").get_by_role("button").click()
    expect(page.get_by_text(f"What db-01 is promised on {uplink} is stated")).to_be_visible()


def told_of_incident(way: Way, secret: str) -> str:
    """Both channels tell of it once, with culprit and victim; the path to look at it."""
    letter = way.letter(f"{HOST}/{UPLINK}", most_s=120)
    plain = letter.get_body(("plain",))
    assert plain is not None
    text = plain.get_content()
    assert "etl-03" in text
    assert "db-01" in text
    way.wait(lambda: bool(way.posts.posts), what="a post", most_s=60)
    (post,) = way.posts.posts
    told = json.loads(post.body)
    assert "etl-03" in json.dumps(told)
    at, signed = re.fullmatch(r"t=(\d+),v1=(\w+)", post.headers["Sluice-Signature"]).groups()  # type: ignore[union-attr]
    proof = hmac.new(secret.encode(), f"{at}.".encode() + post.body, hashlib.sha256)
    assert signed == proof.hexdigest()
    (path, *_) = re.findall(rf"{re.escape(way.service.url)}(/incidents/\d+/)", text)
    return str(path)


def approve(phone: Visit, way: Way, path: str) -> None:
    """Follow the link of the letter, log in, wait for the advice and approve it."""
    phone.go(path)
    log_in(phone, way)
    expect(phone.page.get_by_role("heading", level=1)).to_contain_text(f"{HOST}/{UPLINK}")
    review = phone.page.get_by_role("link", name="Review the recommendation").first

    def advised() -> bool:
        phone.page.reload()
        return review.is_visible()

    way.wait(advised, what="advice", most_s=180)
    review.click()
    expect(phone.page.get_by_text("db-01").first).to_be_visible()
    button = phone.page.get_by_role("button", name=re.compile("^Approve"))
    phone.page.screenshot(path=way.folder / "review.png", full_page=True)
    expect(button.first).to_be_in_viewport()
    button.first.click()
    dialog = phone.page.get_by_role("dialog")
    if dialog.is_visible():
        dialog.get_by_role("button", name="Approve and publish").click()


def watch(phone: Visit, way: Way) -> None:
    """See the stage, the kernel's classes, and that the effect came as it was foretold."""
    phone.page.get_by_role("link", name=f"{HOST}/{UPLINK}").first.click()
    state = phone.page.locator("#rollout-state")
    seen: list[str] = []

    def is_verified() -> bool:
        phone.page.reload()
        text = state.locator("strong").inner_text() if state.is_visible() else ""
        if text and text not in seen:
            seen.append(text)
        assert text not in ("ineffective", "rolled back"), state.inner_text()
        return text == "verified"

    way.wait(is_verified, what=f"a verified effect, after {seen}", most_s=240)
    phone.page.screenshot(path=way.folder / "verified.png", full_page=True)
    assert seen[-2:] == ["in force", "verified"]
    assert f"rate {RESERVED_MBIT}Mbit" in way.host.uplink()


def told_of_the_end(way: Way) -> None:
    """Each channel got one more message, and no other."""
    way.wait(lambda: len(way.posts.posts) == 2, what="the word that it is over", most_s=120)

    def letters() -> list[str]:
        subjects = [str(one["Subject"]) for one in way.letters.letters]
        return [one for one in subjects if f"{HOST}/{UPLINK}" in one]

    way.wait(lambda: len(letters()) == 2, what=f"a letter of the end: {letters()}", most_s=60)


def report(desk: Visit, way: Way) -> str:
    """Have the report of today mailed now; the text of its PDF."""
    desk.go("/reports/?period=today&zone=UTC")
    desk.page.get_by_role("button", name="Mail…").click()
    desk.page.get_by_role("button", name="Mail it").click()
    expect(desk.page.get_by_text("It is on its way by ops")).to_be_visible()
    letter = way.letter("All workloads of Demo", most_s=120)
    (pdf,) = (one for one in letter.walk() if one.get_content_type() == "application/pdf")
    made = pdf.get_payload(decode=True)
    assert isinstance(made, bytes)
    (way.folder / "report.pdf").write_bytes(made)
    pages = PdfReader(io.BytesIO(made)).pages
    return " ".join(" ".join(page.extract_text() for page in pages).split())


INCIDENTS = """
SELECT count(*),
       sum(extract(epoch FROM least(coalesce(ended_at, %(until)s), %(until)s) - started_at) / 60
           * (SELECT sum((victim ->> 'shortfall_ratio')::float8)
                FROM jsonb_array_elements(victims) AS victim))
  FROM advisor_incident
 WHERE started_at < %(until)s
"""
KEPT = """
WITH sample AS (
    SELECT s.time, s.bytes_recv::float8 AS counter
      FROM ingest_net_sample AS s JOIN ingest_series AS own ON own.id = s.series_id
     WHERE own.subject = 'tap101i0' AND s.time <= %(until)s::timestamptz + interval '30 s'
), minute AS (
    SELECT m FROM generate_series(
        (SELECT date_trunc('minute', min(time)) + interval '1 minute' FROM sample),
        %(until)s::timestamptz, interval '1 minute') AS m
), edge AS (
    SELECT m, before.counter + (after.counter - before.counter)
              * coalesce(extract(epoch FROM m - before.time)
                         / nullif(extract(epoch FROM after.time - before.time), 0), 0) AS counter
      FROM minute
      CROSS JOIN LATERAL (
        SELECT * FROM sample WHERE time <= m ORDER BY time DESC LIMIT 1) AS before
      CROSS JOIN LATERAL (SELECT * FROM sample WHERE time >= m ORDER BY time LIMIT 1) AS after
)
SELECT coalesce(array_agg(8 * (b.counter - a.counter) / 60 / %(reserved)s ORDER BY a.m), '{}')
  FROM edge AS a JOIN edge AS b ON b.m = a.m + interval '1 minute'
"""
"""What the database got in each whole minute, as a part of what is reserved for it."""


def compare(text: str, data: DataDir) -> None:
    """The figures of the PDF are those of plain SQL."""
    (made,) = re.findall(r"Made (\d{4}-\d\d-\d\d \d\d:\d\d) UTC", text)
    asked = {"until": f"{made}:00+00", "reserved": RESERVED_MBIT * 1e6}
    with psycopg.connect(
        host=str(data.sockets), port=POSTGRES_PORT, user=ROLE, dbname=DATABASE
    ) as database:
        count, lost_min = database.execute(INCIDENTS, asked).fetchone() or (0, 0)
        (got,) = database.execute(KEPT, asked).fetchone() or ([],)
    assert count == 1
    (kept_text,) = re.findall(r"(\d+) of \d+ min", text)
    kept_min = sum(ratio >= 0.95 for ratio in got)
    assert int(kept_text) == kept_min > 0, got
    (lost_text,) = re.findall(r"1 incident took (\d+) minutes? of service", text)
    assert int(lost_text) == round(lost_min)
    assert "Predictions held 1 of 1" in text


def without_counters(shown: str) -> str:
    return re.sub(r" refcnt \d+", "", shown)
