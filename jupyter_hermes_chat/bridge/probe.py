"""What is configured, without any network: run by the Bridge under Hermes' interpreter, one line of JSON on stdout (design §2).

``{"hermes", "configured", "default": {"provider", "model"}, "providers": [{"slug", "name", "models", "contextLengths"}],
"skills": [{"name", "description", "category"}]}``, or ``{"error"}`` where Hermes could not be asked. Takes 0.4 s; the Bridge
keeps the answer until Hermes' files change. Listing models inside the Bridge or a worker would go to the network.
"""

import json
import os
import sys


class Offline(OSError):
    """Somebody wanted the network, or a program."""


def refuse_network(event, args):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen", "os.posix_spawn"):
        raise Offline("the probe works offline")
    if event == "socket.connect" and isinstance(args[1], tuple):
        raise Offline("the probe works offline")


def look():
    """Raises whatever Hermes raises where it is broken or of another make."""
    import hermes_cli
    from hermes_cli.inventory import build_models_payload, load_picker_context
    from hermes_cli.main import _has_any_provider_configured
    from tools.skills_tool import _find_all_skills

    from tools import skills_sync

    found = {"hermes": getattr(hermes_cli, "__version__", None), "configured": bool(_has_any_provider_configured())}
    context = load_picker_context()
    payload = build_models_payload(context, explicit_only=True, probe_custom_providers=False)
    lengths = context_lengths(context)
    found["default"] = {"provider": payload["provider"] or None, "model": payload["model"] or None}
    found["providers"] = [
        {
            "slug": row["slug"],
            "name": row.get("name") or row["slug"],
            "models": row.get("models") or [],
            "contextLengths": lengths.get(row["slug"], {}),
        }
        for row in payload["providers"]
    ]
    if not skills_sync.MANIFEST_FILE.exists():
        skills_sync.sync_skills(quiet=True)  # a home that Hermes never ran in has no skills yet
    found["skills"] = [{k: s.get(k) or "" for k in ("name", "description", "category")} for s in _find_all_skills()]
    return found


def context_lengths(context):
    """{provider: {model: tokens}} as far as the configuration says so."""
    found = {}
    for slug, entry in (context.user_providers or {}).items():
        models = entry.get("models") if isinstance(entry, dict) else None
        if isinstance(models, dict):
            found[slug] = {
                m: row["context_length"]
                for m, row in models.items()
                if isinstance(row, dict) and isinstance(row.get("context_length"), int)
            }
    return found


def main():
    pipe = os.dup(1)
    os.dup2(2, 1)  # Hermes and its plugins print
    sys.addaudithook(refuse_network)
    try:
        found = look()
    except Exception as error:  # noqa: BLE001 - the one answer of this process is a line, also about what is wrong
        import traceback

        traceback.print_exc()
        found = {"error": f"{type(error).__name__}: {error}"}
    data = (json.dumps(found, ensure_ascii=True, default=str) + "\n").encode()
    while data:
        data = data[os.write(pipe, data) :]
    os._exit(0)


if __name__ == "__main__":
    main()
