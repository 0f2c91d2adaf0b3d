# SPDX-License-Identifier: Apache-2.0
"""Chromium, for tests that look at pages. They are marked ``browser``."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Root has no sandbox; containers have little /dev/shm, and no GPU.
OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
WIDTHS = (1280, 390)  # of a desk and of a phone
SCHEMES = ("light", "dark")
HEIGHT = 900
_LOCAL = ("127.0.0.1", "localhost")
_TIMEOUT_MS = 60_000


def missing() -> str | None:
    """Returns why there is no browser; None if there is one."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed (the extra `browser`)"
    if program() is None:
        return "Chromium is not installed (Debian: chromium)"
    return None


def program() -> str | None:
    """Returns the path of Chromium."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Visit:
    """A page that is open.

    Attributes:
        page: of Playwright.
        width: of the window.
        problems: errors on the console, exceptions, and requests that failed or left the machine.
    """

    page: Any
    width: int
    problems: list[str] = field(default_factory=list)

    def keep(self, name: str, whole: bool = True) -> None:
        """Writes a screenshot into the folder that TORCHDALI_SCREENSHOTS names, if it does.

        Args:
            name: of the file.
            whole: whether to show all of the page, or what the window does.
        """
        folder = os.environ.get("TORCHDALI_SCREENSHOTS")
        if folder:
            full = whole and not self.page.url.endswith(".svg")
            picture = self.page.screenshot(full_page=full)
            Path(folder, f"{name}.png").write_bytes(picture)

    def assert_sound(self) -> None:
        """Fails for problems, and if the page is wider than the window."""
        assert not self.problems
        root = "document.documentElement"
        wide = self.page.evaluate(
            "() => [...document.body.querySelectorAll('*')].filter(e => {"
            "  const box = e.getBoundingClientRect();"
            f" return box.width > 0 && box.right > {root}.clientWidth + 1 }})"
            ".slice(0, 5).map(e => e.outerHTML.slice(0, 120))"
        )
        found = self.page.evaluate(f"() => [{root}.scrollWidth, {root}.clientWidth]")
        assert found[0] <= found[1], f"{found[0]} pixels in a window of {self.width}: {wide}"


class Browser:
    """Opens pages; one at a time for each width and color scheme."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    @contextmanager
    def visit(self, url: str, width: int, scheme: str = "light") -> Iterator[Visit]:
        """Opens a page, without access to other machines."""
        context = self._browser.new_context(
            viewport={"width": width, "height": HEIGHT}, color_scheme=scheme
        )
        context.set_default_timeout(_TIMEOUT_MS)
        page = context.new_page()
        visit = Visit(page, width)

        def guard(route: Any) -> None:
            parts = urlsplit(route.request.url)
            if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in _LOCAL:
                visit.problems.append(f"leaves the machine: {route.request.url}")
                route.abort()
            else:
                route.continue_()

        context.route("**/*", guard)
        page.on("pageerror", lambda error: visit.problems.append(f"exception: {error}"))
        page.on(
            "console",
            lambda message: (
                visit.problems.append(f"console: {message.text} {message.location}")
                if message.type in ("error", "warning")
                else None
            ),
        )
        page.on(
            "response",
            lambda answer: (
                visit.problems.append(f"status {answer.status}: {answer.url}")
                if answer.status >= 400
                else None
            ),
        )
        try:
            page.goto(url, wait_until="load")
            yield visit
        finally:
            context.close()


@contextmanager
def browsing() -> Iterator[Browser]:
    """Starts Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=OPTIONS)
        try:
            yield Browser(browser)
        finally:
            browser.close()
