"""JSON Schema 2020-12 of every record, event and body: the one source of the TypeScript types and of the OpenAPI document.

``python -m jupyter_hermes_chat.protocol.schema`` writes ``protocol/schema.json``; ``npm run types`` makes
``js/src/protocol/types.ts`` from that. Both files are kept in the repository, and tests fail when they are stale.

msgspec describes what it *accepts*; a reader of ours wants what is *written*. So every field of a structure that writes its
defaults is required here, and stays optional where defaults are left out (events) or where a person writes (request bodies).
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct

from . import bridge, events, records

SCHEMA_FILE = Path(__file__).with_name("schema.json")


def structures() -> list[type[Struct]]:
    """The public structures of the three modules, bases left out, in order of definition."""

    def of(module: ModuleType) -> list[type[Struct]]:
        found = [
            c for _, c in inspect.getmembers(module, inspect.isclass) if issubclass(c, Struct) and c.__module__ == module.__name__
        ]
        return sorted((c for c in found if not c.__name__.startswith("_")), key=lambda c: inspect.getsourcelines(c)[1])

    bases = {events.Event, events.Unknown, records.Record, records.Body, records.Answered, bridge.Wire}
    return [c for module in (events, records, bridge) for c in of(module) if c not in bases]


def document() -> dict[str, Any]:
    """The schema document: ``$defs`` by structure name, and ``RunEvent`` as the tagged union of all events."""
    types = structures()
    _, defs = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    for type_ in types:
        entry = defs[type_.__name__]
        if not type_.__struct_config__.omit_defaults and not issubclass(type_, records.Body):
            entry["required"] = list(entry["properties"])
        entry.setdefault("additionalProperties", False)
    defs["RunEvent"] = {
        "description": "An event of a run, told apart by `kind`.",
        "oneOf": [{"$ref": f"#/$defs/{t.__name__}"} for t in events.EVENT_TYPES],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "HermesChatProtocol",
        "$defs": dict(sorted(defs.items())),
    }


def text() -> str:
    return msgspec.json.format(msgspec.json.encode(document(), order="deterministic"), indent=1).decode() + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(text(), encoding="utf-8")
