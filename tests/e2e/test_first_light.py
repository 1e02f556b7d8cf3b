"""A real Hermes turn in every place where a person can see one, in a real JupyterLab and a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.e2e.lab import REPOSITORY, Lab, Notebook, screenshot
from tests.e2e.tour import CHOICE, answers, sees_the_end, sees_the_question, send

pytestmark = [pytest.mark.browser, pytest.mark.agent, pytest.mark.timeout(240)]

MAGIC = "%load_ext jupyter_hermes_chat"
TOUR_TURN = ".hc-turn:has-text('That was a whole turn')"
WIDGET = "from jupyter_hermes_chat import HermesChat\nchat = HermesChat()\nchat"


@pytest.mark.requirement("R31", "R32", "R37", "R55")
def test_the_quickstart_cell_by_cell_then_again_in_the_sidebar_and_after_a_reload(lab: Lab, context: BrowserContext) -> None:
    notebook = Notebook(context, lab, lab.copy_notebook(REPOSITORY / "notebooks" / "quickstart.ipynb"))
    question = notebook.index_of("Give me the tour")
    for index in notebook.code_cells():
        if index != question:
            notebook.run(index)
            continue
        notebook.run(index, wait=False)
        turn = notebook.output(index).get_by_role("article")
        sees_the_question(turn)
        notebook.screenshots("turn-question")
        answers(turn)
        sees_the_end(turn)
        notebook.until_idle()
    assert notebook.failed_cells() == []
    [bundle] = [output["data"] for output in notebook.stored_outputs(question)]
    assert bundle["application/vnd.hermes-chat.turn+json"]["live"] is False
    assert CHOICE in bundle["text/markdown"]
    assert CHOICE in bundle["text/plain"]
    sees_the_end(notebook.output(notebook.index_of("%hermes chat")).locator(TOUR_TURN))

    sidebar = notebook.show_sidebar()
    sidebar.get_by_role("button", name="Chats").click()
    sidebar.get_by_role("button", name=re.compile("^hello")).first.click()
    sees_the_end(sidebar.locator(TOUR_TURN))
    notebook.screenshots("sidebar")

    notebook.reload()
    sees_the_end(notebook.output(question).get_by_role("article"))
    sees_the_end(notebook.page.locator(f"#hermes-chat {TOUR_TURN}"))
    assert notebook.errors == []


@pytest.mark.requirement("R55")
def test_a_turn_outlives_its_kernel_and_the_page_stores_it(lab: Lab, context: BrowserContext) -> None:
    notebook = Notebook(context, lab, lab.write_notebook("background", MAGIC, "%%hermes --background\nslow 4"))
    notebook.run(0)
    notebook.run(1)
    expect(notebook.output(1).get_by_role("article")).to_contain_text("This is line 1")
    notebook.command("notebook:shutdown-kernel")
    notebook.until_stored(1)
    [output] = notebook.stored_outputs(1)
    turn = output["data"]["application/vnd.hermes-chat.turn+json"]["state"]
    assert turn["phase"] == "complete"
    assert output["data"]["text/plain"] == turn["text"] != ""
    assert notebook.errors == []


@pytest.mark.requirement("R31", "R34", "R37")
@pytest.mark.parametrize("labextension", [True, False], ids=["with the labextension", "without the labextension"])
def test_the_whole_chat_in_a_cell(lab: Lab, context: BrowserContext, labextension: bool) -> None:
    name = f"widget-{'with' if labextension else 'without'}-labextension"
    lab.disable_labextension(not labextension)
    try:
        notebook = Notebook(context, lab, lab.write_notebook(name, WIDGET, "chat.session"))
        assert notebook.has_command("hermes-chat:open") is labextension
        notebook.run(0)
        chat = notebook.output(0)
        send(chat, "Show me the tour")
        turn = chat.get_by_role("article", name="Hermes").last
        sees_the_question(turn)
        notebook.screenshots(name)
        answers(turn)
        sees_the_end(turn)
        notebook.run(1)
        [shown] = notebook.stored_outputs(1)
        session = shown["data"]["text/plain"].strip("'")
        assert lab.api(f"hermes/api/chat/sessions/{session}")["session"]["title"] == "Show me the tour"
        assert notebook.errors == []
    finally:
        lab.disable_labextension(False)


@pytest.mark.requirement("R62")
def test_what_is_typed_into_the_chat_stays_in_the_chat(lab: Lab, context: BrowserContext) -> None:
    """Lab's shortcuts would delete (dd), insert (a, b) and run (Shift+Enter, Ctrl+Enter) cells."""
    notebook = Notebook(context, lab, lab.write_notebook("keys", WIDGET, "1", "2"))
    notebook.run(0)
    field = notebook.output(0).get_by_role("textbox", name="Message")
    field.click()
    keyboard = notebook.page.keyboard
    keyboard.type("ddabx")
    keyboard.press("Shift+Enter")
    keyboard.type("second line")
    expect(field).to_have_value("ddabx\nsecond line")
    keyboard.press("Control+z")
    expect(field).not_to_have_value("ddabx\nsecond line")
    assert notebook.cell_count() == 3
    assert notebook.active_cell() == 0


@pytest.mark.requirement("R34", "R63")
def test_the_page_logs_in_forgets_the_token_and_runs_under_a_strict_policy(lab: Lab, browser: Browser) -> None:
    context = browser.new_context(locale="zh-CN")
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.goto(f"{lab.url}hermes/chat")
    assert "/login?next=" in page.url

    answer = page.goto(f"{lab.url}hermes/chat?token={lab.token}")
    assert answer is not None
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    field = page.get_by_role("textbox")
    expect(field).to_be_focused()
    assert page.url == f"{lab.url}hermes/chat"
    field.fill("你好")
    field.press("Enter")
    expect(page.get_by_role("article").last).to_contain_text("我是导览")
    expect(page).to_have_url(re.compile(r"/hermes/chat/[0-9a-f-]{36}$"))
    screenshot(page, "page-light")
    page.emulate_media(color_scheme="dark")
    screenshot(page, "page-dark")

    page.reload()
    expect(page.get_by_role("article").last).to_contain_text("我是导览")
    page.go_back()
    expect(page).to_have_url(f"{lab.url}hermes/chat")
    assert errors == []
    context.close()


@pytest.mark.requirement("R63")
def test_an_untrusted_notebook_asks_nothing_of_the_server_until_it_is_trusted(lab: Lab, context: BrowserContext) -> None:
    session = "00000000-0000-4000-8000-000000000000"
    live = {"version": 1, "run": f"{session}.2", "session": session, "live": True}
    path = lab.write_notebook("untrusted", "1")
    lab.store_output(path, {"application/vnd.hermes-chat.turn+json": live, "text/plain": "running"})
    notebook = Notebook(context, lab, path)
    expect(notebook.output(0)).to_contain_text("Trust the notebook to load it")
    assert not [url for url in notebook.requested if session in url]
    notebook.trust()
    expect(notebook.output(0)).to_contain_text("could not be loaded")
    expect(notebook.output(0)).not_to_contain_text("Trust the notebook to load it")
