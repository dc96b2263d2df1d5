"""Every page of the dashboard in Chromium, light and dark: axe finds nothing serious, and a phone is wide enough.

axe-core (Mozilla Public License 2.0) comes with the development dependency axe-playwright-python.
"""

import pytest
import shots
from axe_playwright_python.sync_playwright import Axe
from service import TOKEN

pytestmark = pytest.mark.timeout(1200)  # 30 pages, on machines with other things to do
SERIOUS = ("serious", "critical")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RULES = {  # in the dark all is the same but the colours
    "light": {"runOnly": {"type": "tag", "values": TAGS}},
    "dark": {"runOnly": {"type": "rule", "values": ["color-contrast"]}},
}
# the reference has the same few parts for each of some hundred paths and schemas, which axe looks at for a minute
THINNED = """() => {
  let [paths, schemas, drop] = [0, 0, false];
  for (const node of [...document.querySelector("h2").parentElement.children]) {
    if (node.matches("h2")) drop = !node.id && ++paths > 12;
    if (node.matches("h3")) drop = ++schemas > 6;
    if (drop) node.remove();
  }
}"""


@pytest.fixture(scope="module")
def pages(service):
    """Every page there is, with something on it."""
    return shots.fill(service, epochs=2)


def look(browser, service, pages, scheme):
    """What is wrong with each page: serious findings of axe, and how far it reaches beyond a phone."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{service.client.base_url}/?token={TOKEN}")
    found, axe = {}, Axe()
    for name, path in pages.items():
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{service.client.base_url}{path}")
        wide = page.evaluate("document.documentElement.scrollWidth") - 390
        page.set_viewport_size({"width": 1280, "height": 900})
        if path == "/reference":
            page.evaluate(THINNED)
        wrong = [
            (one["id"], one["nodes"][0]["html"][:200])
            for one in axe.run(page, options=RULES[scheme]).response["violations"]
            if one["impact"] in SERIOUS
        ]
        if wrong or wide > 0:
            found[name] = (wrong, wide)
    context.close()
    return found


@pytest.mark.parametrize("scheme", shots.SCHEMES)
def test_pages_without_anything_on_them_are_usable_by_all(browser, service, scheme):
    assert look(browser, service, shots.EMPTY, scheme) == {}


@pytest.mark.parametrize("scheme", shots.SCHEMES)
def test_every_page_is_usable_by_all_and_fits_a_phone(browser, service, pages, scheme):
    assert len(pages) > 20
    assert look(browser, service, pages, scheme) == {}
