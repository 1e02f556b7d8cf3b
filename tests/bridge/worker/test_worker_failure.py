"""Why a turn failed, as a code and a sentence without secrets."""

from __future__ import annotations

import json

import pytest

from jupyter_hermes_chat.bridge.worker import failure


@pytest.mark.parametrize(
    ("text", "reason", "code"),
    [
        ("content_policy_blocked: no violence, please", "", "guardrail"),
        ("Model x has a context window of 32,000 tokens, which is below the minimum 64,000 required", "", "context_too_small"),
        ("HTTP 401: whatever", "", "model_refused"),
        ("HTTP 402: whatever", "", "model_refused"),
        ("HTTP 403: whatever", "", "model_refused"),
        ("HTTP 404: The model `x` does not exist", "", "model_refused"),
        ("Billing or credits exhausted", "billing", "model_refused"),
        ("No credentials found for provider x", "", "model_refused"),
        ("HTTP 429: slow down", "", "model_unreachable"),
        ("HTTP 503: busy", "", "model_unreachable"),
        ("Connection error.", "timeout", "model_unreachable"),
        ("Request timed out.", "", "model_unreachable"),
        ("'NoneType' object is not iterable", "", "agent_error"),
        ("", "", "agent_error"),
    ],
)
def test_failures_are_told_by_code(text: str, reason: str, code: str) -> None:
    found = failure.explain(text, reason=reason, model="gpt")
    assert found.code == code
    assert found.message.endswith(".")


def test_no_key_stands_in_a_failure() -> None:
    key = "sk-proj-AbCdEf0123456789"
    for text in (f"HTTP 401: Incorrect API key provided: {key}", f"odd {key}", f"content_policy_blocked: {key}"):
        assert key not in json.dumps(failure.explain(text).body())


def test_a_guardrail_gives_its_reason() -> None:
    assert failure.explain("content_policy_blocked: no violence").body()["guardrailsFailureReason"] == "no violence"
