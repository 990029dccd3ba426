#!/usr/bin/env python3
"""Take the README's screenshots from the sample: 12 hosts and 300 VMs, in both schemes.

Without --address it starts `sluice run --sample` in a folder of its own and stops it after.
It waits until the noisy neighbour of the sample is advised on, which takes some minutes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.lanes import find_browser  # noqa: E402  found by the path above

FOLDER = ROOT / "docs" / "screenshots"
LARGEST_BYTES = 250_000
PORT = 8177
DEADLINE_S, HISTORY_S = 1800.0, 600.0
JUDGED_COLUMNS = 90
"""Of five minutes: seven and a half of the sample's eight hours."""
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
CHARTS: ViewportSize = {"width": 1280, "height": 950}
WHAT_IF: ViewportSize = {"width": 1280, "height": 1100}
NEIGHBOURS_STORE = "silver-01"


@contextmanager
def sample() -> Iterator[tuple[str, str]]:
    """Its address and the password of admin, while it runs."""
    with tempfile.TemporaryDirectory(prefix="sluice-pictures-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        command = [sys.executable, str(ROOT / "manage.py"), "run", "--sample", "--no-reader"]
        server = subprocess.Popen(
            [*command, f"--port={PORT}"],
            env={"SLUICE_DATA_DIR": f"{folder}/data", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield f"http://127.0.0.1:{PORT}", _password(server)
        finally:
            server.terminate()
            server.wait(timeout=120)


def _password(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        print(line, end="", flush=True)
        if found := re.search(r"log in as admin with the password (\S+)", line):
            return found[1]
    raise SystemExit("the sample did not start")


def take(browser: Browser, address: str, password: str, scheme: str) -> None:
    """All pages in one scheme."""
    context = browser.new_context(
        viewport=DESKTOP, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    _enter(page, address, password)
    ending = "-dark" if scheme == "dark" else ""

    def keep(name: str) -> None:
        page.mouse.move(0, 0)
        path = FOLDER / f"{name}{ending}.png"
        page.screenshot(path=path, animations="disabled")
        if path.stat().st_size > LARGEST_BYTES:
            raise SystemExit(f"{path} has {path.stat().st_size} bytes; at most {LARGEST_BYTES}")

    advice = _wait_for_advice(page, address)
    _wait_for_history(page, address)
    page.goto(f"{address}/")
    for part in ("#overview-map .squares", "#overview-promises table", "#overview-movers table"):
        expect(page.locator(part).first).to_be_visible(timeout=60_000)
    keep("overview")
    page.locator("#overview-map").scroll_into_view_if_needed()
    store = page.locator(".heat-name", has_text=NEIGHBOURS_STORE).get_attribute("href")
    page.goto(f"{address}{store}?range=6h")
    expect(page.locator(".chart-plot .u-over").first).to_be_visible(timeout=60_000)
    expect(page.locator(".chart-plot .note:visible")).to_have_count(0, timeout=60_000)
    page.set_viewport_size(CHARTS)
    keep("datastore")
    page.set_viewport_size(DESKTOP)
    page.goto(f"{address}{advice}")
    keep("recommendation")
    page.goto(f"{address}/hosts/")
    keep("hosts")
    page.goto(f"{address}{store}what-if/")
    page.set_viewport_size(WHAT_IF)
    page.wait_for_timeout(1000)
    keep("what-if")
    page.goto(f"{address}/replay/sioc-nfs-idle-vm/")
    expect(page.get_by_role("button", name="Play")).to_be_enabled()
    page.locator("#position").fill("600")
    keep("replay")
    context.close()


def _enter(page: Page, address: str, password: str) -> None:
    """Log in, look at the sample, and put its tour away."""
    page.goto(f"{address}/login/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url(f"{address}/")
    page.locator(".site-tools .menu > summary").click()
    page.get_by_label("Organisation").select_option(label="Northgate (sample data)")
    page.get_by_role("button", name="Switch").click()
    closing = page.get_by_role("button", name="Close the tour")
    if closing.count():
        closing.click()


def _wait_for_advice(page: Page, address: str) -> str:
    """The address of the recommendation on the neighbour's store."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        page.goto(f"{address}/?at=once")
        sentence = page.locator(".sentences > li", has_text=NEIGHBOURS_STORE)
        review = sentence.get_by_role("link", name="Review")
        if review.count():
            found = review.first.get_attribute("href")
            assert found is not None
            return found
        page.wait_for_timeout(10_000)
    raise SystemExit(f"nobody was advised on {NEIGHBOURS_STORE} within {DEADLINE_S:.0f} s")


def _wait_for_history(page: Page, address: str) -> None:
    """Until the past of the sample was judged, while its neighbour still is noisy."""
    deadline = time.monotonic() + HISTORY_S
    while time.monotonic() < deadline:
        page.goto(f"{address}/")
        strip = page.locator(f'[data-heat][data-name="{NEIGHBOURS_STORE}"]')
        values = (strip.get_attribute("data-values") or "").split(",")
        if sum(map(bool, values)) >= JUDGED_COLUMNS:
            return
        page.wait_for_timeout(15_000)
    print("the past of the sample is judged only in part", flush=True)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--address", help="of a sample that runs already, such as http://HOST:8000")
    words.add_argument("--password", help="of its admin")
    asked = words.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        if asked.address:
            _both(browser, asked.address, asked.password or "")
        else:
            with sample() as (address, password):
                _both(browser, address, password)


def _both(browser: Browser, address: str, password: str) -> None:
    for scheme in ("light", "dark"):
        take(browser, address, password, scheme)
        print(f"{scheme}: written to {FOLDER}", flush=True)


if __name__ == "__main__":
    main()
