"""A browser for tests of pages: Debian's Chromium, driven by Playwright. Without it, tests are skipped with a reason.

Playwright downloads no browser. It uses the program in LIKELY_CHROMIUM, or `chromium` on the path.
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
"""Timeout of all waits in a page, in milliseconds."""


@dataclass
class Seen:
    """Record of forbidden actions of pages: console errors, exceptions, dialogs and requests."""

    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self, context, url):
        """Listen to every page of a context, which may request this address only."""
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

    def take(self):
        """Return and clear the record, for tests that expect forbidden actions."""
        record = {name: seen for name, seen in asdict(self).items() if seen}
        for name in record:
            getattr(self, name).clear()
        return record


def missing_chromium():
    """Return the reason why there is no browser; empty if there is one."""
    if _chromium() is not None:
        return ""
    prefix = "CHROMIUM IS MISSING IN CI, SO NO PAGE WAS TESTED: " if os.environ.get("CI") == "true" else ""
    named = os.environ.get("LIKELY_CHROMIUM")
    reason = f"LIKELY_CHROMIUM names {named!r}, which is not a program" if named else "there is no chromium on the path"
    return f"{prefix}{reason}; install it (apt-get install chromium), or set LIKELY_CHROMIUM to a program"


def _chromium():
    return shutil.which(os.environ.get("LIKELY_CHROMIUM") or "chromium")


@pytest.fixture(scope="module")
def browser():
    """One browser for the tests of a file. While it is open, no other test of the process can run an event loop."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install likely[dev]")
    if reason := missing_chromium():
        pytest.skip(reason)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def seen():
    """Record of forbidden actions of the pages of a test; `seen.take()` returns and clears it."""
    return Seen()


@pytest.fixture
def open_page(browser, seen, tmp_path):
    """A function that opens a page from a file. The test fails at its end if the page did something forbidden.

    ``open_page(html_or_path, *, hash="", width=None, height=None, dark=False, mobile=False)`` takes HTML as text, which
    is written to a file first, or the path of a file. By default, a window is 1200 × 900, and a phone 390 × 844. There
    is no network, the clipboard may be read and written, and waits time out after ten seconds.
    """
    contexts = []

    def open_html(html_or_path, *, hash="", width=None, height=None, dark=False, mobile=False):  # noqa: A002
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

    yield open_html
    for context in contexts:
        _settle(context)
        context.close()
    assert seen.take() == {}


def _file(html_or_path, place):
    if isinstance(html_or_path, Path):
        return html_or_path.resolve()
    place.write_text(html_or_path, encoding="utf-8")
    return place


def _settle(context):
    """Wait until pages have finished pending work and their messages have arrived."""
    for page in context.pages:
        page.evaluate("() => new Promise(done => setTimeout(done, 20))")


@pytest.fixture(scope="session")
def slide():
    """``slide(page, selector, index)`` moves a slider to its index-th step by the keyboard, and returns its value.

    The slider is set next to the step and one key is pressed, so that the browser itself fires the events.
    """

    def move(page, selector, index):
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

    return move


_BESIDE = """(slider, index) => {
    const beside = index === 0 ? 1 : index - 1;
    slider.value = Number(slider.min) + beside * (slider.step || 1);
    slider.addEventListener("input", event => { slider.dataset.slid = event.isTrusted }, {capture: true, once: true});
}"""
