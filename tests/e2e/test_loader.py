"""The loader of the anywidget on a page without a Jupyter server, as in VS Code or Colab: the kernel brings the core."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.lab import REPOSITORY

pytestmark = pytest.mark.browser

STATIC = REPOSITORY / "jupyter_hermes_chat" / "static"
# A model as anywidget gives it, whose kernel answers with `answers`, one a request, the last one for all further ones.
RENDER = """async ([loader, answers]) => {
  window.asked ??= 0;
  const listeners = new Set();
  const model = {
    get: () => null, set() {}, save_changes() {},
    on: (event, listener) => listeners.add(listener), off: (event, listener) => listeners.delete(listener),
    send: () => {
      const core = answers[Math.min(window.asked++, answers.length - 1)];
      queueMicrotask(() => listeners.forEach(listener => listener({ core })));
    },
  };
  const url = URL.createObjectURL(new Blob([loader], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  const element = document.body.appendChild(document.createElement("section"));
  window.close_ = await widget.render({ model, el: element });
}"""


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def render(page: Page, *answers: str) -> None:
    page.evaluate(RENDER, [(STATIC / "widget.js").read_text(encoding="utf-8"), answers])


def core() -> str:
    return (STATIC / json.loads((STATIC / "manifest.json").read_text())["core"]).read_text(encoding="utf-8")


def test_the_kernel_is_asked_once_a_page_and_the_view_says_what_is_missing(page: Page) -> None:
    render(page, core())
    render(page, core())
    expect(page.locator("section").nth(0)).to_contain_text("No Jupyter server with Hermes Chat can be reached from here")
    expect(page.locator("section").nth(1)).to_contain_text("No Jupyter server with Hermes Chat can be reached from here")
    assert page.evaluate("window.asked") == 1
    page.evaluate("window.close_()")
    expect(page.locator("section").nth(1)).to_be_empty()


def test_a_core_that_cannot_be_loaded_is_a_sentence_and_the_next_view_tries_again(page: Page) -> None:
    render(page, "this is no JavaScript", core())
    expect(page.locator("section").first).to_contain_text("Run this cell again")
    render(page, "this is no JavaScript", core())
    expect(page.locator("section").nth(1)).to_contain_text("No Jupyter server with Hermes Chat")
