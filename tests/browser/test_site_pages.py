# SPDX-License-Identifier: Apache-2.0
"""The documentation site of `make site`, in a browser."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.chromium import SCHEMES, WIDTHS, Browser

SITE = Path(__file__).parents[2] / "build" / "site"
DESK, PHONE = WIDTHS
PAGES = {
    "index.html": "a folder of images",
    "guide/images.html": "",
    "guide/from_dali.html": "",
    "guide/which_loader.html": "",
    "reference/operators.html": "",
    "reference/pipeline.html": "save_graph_to_dot_file",
    "tutorials/images.html": "",
}

pytestmark = [pytest.mark.browser, pytest.mark.slow]
if not (SITE / "index.html").is_file():
    pytestmark.append(pytest.mark.skip(reason="`make site` has not built the site"))


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Says nothing."""


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Says nothing of pages that were closed before they were read."""


@contextlib.contextmanager
def _serving(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Handler, directory=os.fspath(folder))
    server = _Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Returns the URL of the site."""
    with _serving(SITE) as url:
        yield url


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_sound(browser: Browser, site: str, name: str):
    for width, scheme in ((DESK, SCHEMES[0]), (PHONE, SCHEMES[1])):
        with browser.visit(site + name, width, scheme) as visit:
            visit.keep(f"site-{name.replace('/', '-').removesuffix('.html')}-{width}")
            visit.assert_sound()
            article = visit.page.locator("article")
            assert article.locator("h1").is_visible()
            assert PAGES[name] in article.inner_text()
            broken = "() => [...document.images].filter(i => !i.naturalWidth).map(i => i.src)"
            visit.page.evaluate("() => [...document.images].forEach(i => i.loading = 'eager')")
            visit.page.wait_for_load_state("networkidle")
            assert visit.page.evaluate(broken) == []


def test_the_site_can_be_searched(browser: Browser, site: str):
    for width in WIDTHS:
        with browser.visit(site, width) as visit:
            if width == PHONE:
                visit.page.locator("label.md-header__button[for=__search]").click()
            else:
                visit.page.locator("input[name=query]").click()
            ready = visit.page.locator(".md-search-result__meta", has_text="Type to start")
            ready.wait_for(state="attached")
            visit.page.locator("input[name=query]").press_sequentially("bounding boxes")
            found = visit.page.locator(".md-search-result__link")
            found.first.wait_for(state="visible")
            visit.keep(f"site-search-{width}", whole=False)
            assert found.count() >= 2
            found.first.click()
            visit.page.locator("article h1").first.wait_for(state="visible")
            assert not visit.page.url.endswith("index.html")
            assert not visit.problems


def test_the_site_can_be_navigated_on_a_phone(browser: Browser, site: str):
    with browser.visit(site, PHONE) as visit:
        visit.page.locator("label.md-header__button[for=__drawer]").click()
        link = visit.page.locator("nav.md-nav--primary").get_by_text("Install").first
        link.wait_for(state="visible")
        visit.keep("site-drawer", whole=False)
        link.click()
        visit.page.wait_for_url("**/guide/install.html")
        assert not visit.problems


def test_the_colors_can_be_changed(browser: Browser, site: str):
    with browser.visit(site, DESK, "light") as visit:
        color = "() => getComputedStyle(document.body).backgroundColor"
        before = visit.page.evaluate(color)
        visit.page.locator("label[title='Dark colors']").click()
        visit.page.wait_for_timeout(300)
        assert visit.page.evaluate(color) != before
        assert not visit.problems


def test_a_snippet_can_be_copied(browser: Browser, site: str):
    with browser.visit(f"{site}guide/images.html", DESK) as visit:
        button = visit.page.locator("[data-md-type=copy]").first
        button.click()
        visit.page.locator(".md-dialog--active").wait_for(state="visible")
        assert not visit.problems
