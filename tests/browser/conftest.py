"""A browser for tests of pages: Debian's Chromium, driven by Playwright, or a reason why there is none.

Playwright downloads no browser here: the one named by LIKELY_CHROMIUM, or `chromium` on the path, is used.
"""

import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PATIENCE = 10_000
"""Milliseconds to wait for anything in a page."""


@dataclass
class Seen:
    """What pages did that a page on its own must not do."""

    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self, context, url):
        """Listen to every page of a context that may ask for nothing but this address."""
        own = url.split("#")[0]
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("dialog", self._on_dialog)
        context.on("request", lambda r: self.requests.append(r.url) if r.url.split("#")[0] != own else None)
        context.on("page", lambda page: page.on("websocket", lambda socket: self.requests.append(socket.url)))

    def _on_console(self, message):
        if message.type in ("error", "warning", "assert"):
            self.console.append(f"{message.type}: {message.text}")

    def _on_dialog(self, dialog):
        self.dialogs.append(f"{dialog.type}: {dialog.message}")
        dialog.dismiss()

    def taken(self):
        """All that was seen so far, which is then forgotten: for tests that expect something."""
        taken = {name: seen for name, seen in asdict(self).items() if seen}
        for name in taken:
            getattr(self, name).clear()
        return taken


def missing_chromium():
    """Why there is no browser; empty if there is one."""
    if _chromium() is not None:
        return ""
    loudly = "CHROMIUM IS MISSING IN CI, SO NO PAGE WAS TESTED: " if os.environ.get("CI") == "true" else ""
    named = os.environ.get("LIKELY_CHROMIUM")
    looked = f"LIKELY_CHROMIUM names {named!r}, which is no program" if named else "there is no chromium on the path"
    return f"{loudly}{looked}; install it (apt-get install chromium), or set LIKELY_CHROMIUM to a program"


def _chromium():
    return shutil.which(os.environ.get("LIKELY_CHROMIUM") or "chromium")


@pytest.fixture(scope="module")
def browser():
    """One browser for the tests of a file: while it is open, no other test of the process could run an event loop."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install likely[dev]")
    if reason := missing_chromium():
        pytest.skip(reason)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def seen():
    """What the pages of a test did that they must not do; `seen.taken()` reads it and forgives it."""
    return Seen()


@pytest.fixture
def open_page(browser, seen, tmp_path):
    """A function that opens a page from a file, and the end of the test fails if it did what it must not do.

    ``open_page(html_or_path, *, hash="", width=None, height=None, dark=False, mobile=False)`` takes HTML as text, which
    is written to a file first, or the path of a file. Without sizes, a window is 1200 × 900, and a phone 390 × 844.
    There is no network, the clipboard may be read and written, and whatever takes ten seconds fails.
    """
    contexts = []

    def opened(html_or_path, *, hash="", width=None, height=None, dark=False, mobile=False):  # noqa: A002
        url = _file(html_or_path, tmp_path / f"page-{len(contexts)}.html").as_uri() + (f"#{hash}" if hash else "")
        context = browser.new_context(
            viewport={"width": width or (390 if mobile else 1200), "height": height or (844 if mobile else 900)},
            color_scheme="dark" if dark else "light",
            is_mobile=mobile,
            has_touch=mobile,
            device_scale_factor=2 if mobile else 1,
            offline=True,
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        seen.watch(context, url)
        page = context.new_page()
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        _settle(context)
        context.close()
    assert seen.taken() == {}


def _file(html_or_path, place):
    if isinstance(html_or_path, Path):
        return html_or_path.resolve()
    place.write_text(html_or_path, encoding="utf-8")
    return place


def _settle(context):
    """Let pages do what they have begun, and their messages arrive."""
    for page in context.pages:
        page.evaluate("() => new Promise(done => setTimeout(done, 20))")


@pytest.fixture(scope="session")
def slide():
    """``slide(page, selector, index)`` moves a slider to its index-th step by the keyboard; its value then.

    The thumb is put beside the step and one key is pressed, so that the events are the browser's own.
    """

    def slid(page, selector, index):
        slider = page.locator(selector)
        last = slider.evaluate("s => Math.round(((s.max || 100) - s.min) / (s.step || 1))")
        if not 0 <= index <= last:
            raise ValueError(f"{selector} has steps 0 to {last}, so there is no step {index}.")
        slider.focus()
        slider.evaluate(_BESIDE, index)
        slider.press("ArrowDown" if index == 0 else "ArrowUp")
        if not slider.evaluate("s => s.dataset.slid === 'true' && delete s.dataset.slid"):
            raise AssertionError(f"{selector} did not move to step {index}: is it disabled or hidden?")
        return float(slider.input_value())

    return slid


_BESIDE = """(slider, index) => {
    const beside = index === 0 ? 1 : index - 1;
    slider.value = Number(slider.min) + beside * (slider.step || 1);
    slider.addEventListener("input", event => { slider.dataset.slid = event.isTrusted }, {capture: true, once: true});
}"""
