"""Why a turn failed: a stable code (``protocol/errors.py``) and a sentence that says what to do. Pure functions.

Hermes reports failures as text, with a reason beside it on some paths (0.19). So the words are read in a fixed order, from
the most certain to the least. Nothing of a key, a header or a body stands in a message: where Hermes quotes the provider,
the quotation is redacted, and where the provider may quote the key, it is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .words import redacted

_BLOCKED = re.compile(r"content_policy_blocked:\s*(.*)", re.DOTALL)
_HTTP = re.compile(r"\bHTTP (\d{3})\b")
_CONTEXT = re.compile(r"context window of|below the minimum|minimum [\d,]+ required|context_too_small", re.IGNORECASE)
_REFUSED = re.compile(
    r"invalid api[ _]key|incorrect api key|unauthorized|authentication|credential|api[ _]key|billing|credit|payment required|"
    r"model_not_found|model not found|no such model|does not exist|unknown model|not a valid model|unknown provider|"
    r"disabled in config",
    re.IGNORECASE,
)
_UNREACHABLE = re.compile(
    r"connection|connect|timed? ?out|timeout|unreachable|refused|reset by peer|network|name resolution|getaddrinfo|ssl|"
    r"certificate|overloaded|server error|stream ended",
    re.IGNORECASE,
)
_DETAIL = 300


@dataclass(frozen=True)
class Failure:
    code: str
    message: str
    guardrails_failure_reason: str | None = None

    def body(self) -> dict[str, str]:
        """As it stands in ``turn_end``."""
        body = {"code": self.code, "message": self.message}
        if self.guardrails_failure_reason is not None:
            body["guardrailsFailureReason"] = self.guardrails_failure_reason
        return body


NOT_CONFIGURED = Failure(
    "not_configured", "Hermes has no model configured. Run `hermes model` in a terminal, then send the message again."
)


def explain(text: str, *, reason: str = "", model: str = "") -> Failure:
    """The failure that Hermes describes as *text*. *reason*: its ``failure_reason`` or ``turn_exit_reason``."""
    name = f"The model {model}" if model else "The model"
    if blocked := _BLOCKED.search(text):
        why = redacted(blocked[1].strip())[:_DETAIL]
        return Failure("guardrail", "The model declined this request. Say it differently, or choose another model.", why)
    if _CONTEXT.search(text) or "context_too_small" in reason:
        return Failure(
            "context_too_small",
            f"{name} has a context window below the 64,000 tokens that Hermes needs. Choose another model, or set "
            "`model.context_length` in Hermes' config.yaml if the real window is larger.",
        )
    status = int(found[1]) if (found := _HTTP.search(text)) else 0
    if status in (401, 403) or reason in ("auth", "auth_permanent"):
        return Failure("model_refused", f"{name} refused the key{_http(status)}. Check it with `hermes model` in a terminal.")
    if status == 402 or reason == "billing":
        return Failure(
            "model_refused", f"{name} refused: the account has no credit left{_http(status)}. Top it up, or choose another model."
        )
    if status == 404 or reason == "model_not_found":
        return Failure("model_refused", f"{name} is not known to its provider{_http(status)}. Choose another model.")
    if status == 429 or reason in ("rate_limit", "upstream_rate_limit"):
        return Failure(
            "model_unreachable",
            f"{name} takes no more requests for now{_http(status)}. Wait a little, then send the message again.",
        )
    if status >= 500 or reason in ("server_error", "overloaded"):
        return Failure(
            "model_unreachable", f"{name} has a problem of its own{_http(status)}. Try again in a moment, or choose another model."
        )
    if reason in ("timeout", "ssl_cert_verification") or (not status and _UNREACHABLE.search(text)):
        return Failure(
            "model_unreachable",
            f"{name} could not be reached. Check the network and its address in Hermes' configuration, then send again.",
        )
    if _REFUSED.search(text):
        return Failure("model_refused", f"{name} was refused. Check model and key with `hermes model` in a terminal.")
    detail = " ".join(redacted(text).split())[:_DETAIL]
    return Failure(
        "agent_error",
        f"The agent could not finish: {detail or 'no reason was given'}. Send the message again, or choose another model.",
    )


def _http(status: int) -> str:
    return f" (HTTP {status})" if status else ""
