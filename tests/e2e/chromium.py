"""A real Chromium for tests of the dashboard; where there is none they are skipped, and say so."""

import contextlib
import os
import shutil

import pytest

PATIENCE = 60_000  # milliseconds; a machine may have much else to do
READY = "html[data-ready]"  # before, nothing on a page listens to keys or the mouse
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def executable():
    """The browser of the system, or the one that C2S_TEST_CHROMIUM names."""
    return os.environ.get("C2S_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextlib.contextmanager
def chromium():
    """A browser without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    found = executable()
    if found is None:
        pytest.skip("there is no Chromium: install Debian's package chromium, or set C2S_TEST_CHROMIUM")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
