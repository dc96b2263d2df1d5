"""The dashboard in a browser: a service with a worker, and pages of somebody who is logged in or not."""

import pytest
from chromium import PATIENCE, chromium
from service import TOKEN, Service


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def service(browser, tmp_path_factory):
    with Service(tmp_path_factory.mktemp("home"), slowly=True) as found:
        yield found


@pytest.fixture
def stranger(browser, service):
    """A page of somebody who is not logged in; no script may fail on it, and nothing be refused by its policy."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    found = context.new_page()
    found.set_default_timeout(PATIENCE)
    faults = []
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on("console", lambda said: faults.append(said.text) if "Security Policy" in said.text else None)
    found.on("dialog", lambda dialog: faults.append(dialog.message) or dialog.dismiss())
    yield found
    context.close()
    assert faults == []


@pytest.fixture
def page(stranger, service):
    """The same, logged in."""
    stranger.goto(f"{service.client.base_url}/?token={TOKEN}")
    return stranger
