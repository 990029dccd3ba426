"""Finding the charts of a page, and whether anything is drawn on them."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.web.fleet import Fleet


def resource_path(fleet: Fleet, name: str) -> str:
    return f"/resources/{fleet.resources[name].pk}/"


def plot(page: Page, key: str) -> Locator:
    return page.locator(f"[data-chart={key}] canvas")


def colours_in(canvas: Locator) -> int:
    """How many different colours a canvas shows; one or two would be an empty chart."""
    return canvas.evaluate(
        """canvas => {
            const { width, height } = canvas;
            const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
            const seen = new Set();
            for (let at = 0; at < pixels.length; at += 4)
                seen.add((pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2]);
            return seen.size;
        }"""
    )


def wait_for_charts(page: Page) -> None:
    expect(page.locator("[data-live-mark]")).not_to_have_text("Loading")
    expect(plot(page, "level")).to_be_visible()
