"""One JupyterLab and one browser for all browser tests of a module; each test has a browser context of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.e2e.lab import BROWSER_FLAGS, REPOSITORY, Lab, running_lab


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All on one worker of xdist, so that there is one JupyterLab."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))


# Of the module and not of the session: as long as Playwright is open, an event loop runs in this thread, and no other test
# of this worker could run its own.
@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=BROWSER_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def lab(hermes_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Under a prefix with escaped characters, as JupyterHub gives one to users with a space or an @ in their name."""
    if not (REPOSITORY / "jupyter_hermes_chat" / "static" / "manifest.json").exists():
        pytest.fail("the front end was not built: run `npm ci && npm run build` in js/")
    with running_lab(tmp_path_factory.mktemp("lab"), base_url="/user/ann%20b%40c/") as lab:
        yield lab


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1300, "height": 900}, locale="en-US")
    yield context
    context.close()
