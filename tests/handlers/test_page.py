"""The files of the front end and the page, as a browser asks for them."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable

import pytest
from tornado.httpclient import HTTPResponse

from jupyter_hermes_chat.handlers.page import STATIC, language, manifest

Fetch = Callable[..., Awaitable[HTTPResponse]]


@pytest.fixture
def core() -> str:
    files = manifest()
    if files is None:
        pytest.fail("the front end was not built: run `npm ci && npm run build` in js/")
    return files["core"]


async def test_the_core_is_sent_compressed_and_kept_for_good(jp_fetch: Fetch, core: str) -> None:
    answer = await jp_fetch("hermes", "static", core, headers={"Accept-Encoding": "gzip"}, decompress_response=False)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert gzip.decompress(answer.body) == (STATIC / core).read_bytes()


async def test_a_client_that_takes_no_gzip_gets_none(jp_fetch: Fetch, core: str) -> None:
    answer = await jp_fetch("hermes", "static", core, headers={"Accept-Encoding": "identity"}, decompress_response=False)
    assert "Content-Encoding" not in answer.headers
    assert answer.body == (STATIC / core).read_bytes()


async def test_a_name_without_a_hash_is_asked_for_again(jp_fetch: Fetch, core: str) -> None:
    answer = await jp_fetch("hermes", "static", "manifest.json")
    assert answer.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["..%2Fhandlers%2Fpage.py", "%2Fetc%2Fpasswd", "missing.js", ""])
async def test_nothing_else_is_served(jp_fetch: Fetch, path: str) -> None:
    answer = await jp_fetch("hermes", "static", path, raise_error=False)
    assert answer.code in (403, 404)


async def test_the_page_sets_the_cookie_that_its_requests_need(jp_fetch: Fetch, core: str) -> None:
    answer = await jp_fetch("hermes", "chat", headers={"Accept-Language": "fr, zh-TW;q=0.8, en;q=0.5"})
    text = answer.body.decode()
    assert '<html lang="zh-CN">' in text
    assert f'"core": "{core}"' in text
    assert "_xsrf=" in answer.headers["Set-Cookie"]
    assert answer.headers["Cache-Control"] == "no-store"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "en"),
        ("zh", "zh-CN"),
        ("zh-Hans-CN,zh;q=0.9,en;q=0.8", "zh-CN"),
        ("en-GB;q=0.4, zh;q=0.9", "zh-CN"),
        ("de, en;q=0.7, zh;q=0.3", "en"),
        ("de, *;q=0.1", "en"),
        ("zh;q=nonsense, en", "en"),
    ],
)
@pytest.mark.requirement("R61")
def test_the_language_is_the_first_of_ours_that_the_browser_asks_for(accept: str, expected: str) -> None:
    assert language(accept) == expected
