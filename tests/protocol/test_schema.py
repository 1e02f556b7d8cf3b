"""The generated files say what the structures say, and real values fit them."""

import jsonschema
import msgspec
import pytest

from jupyter_hermes_chat.protocol import events, records, schema


def test_schema_file_is_fresh() -> None:
    assert schema.SCHEMA_FILE.read_text(encoding="utf-8") == schema.text(), (
        "protocol/schema.json is stale: run `python -m jupyter_hermes_chat.protocol.schema`, then `npm run types` in js/"
    )


def test_every_structure_is_described() -> None:
    names = {c.__name__ for c in schema.structures()}
    assert {t.__name__ for t in events.EVENT_TYPES} <= names
    assert {"Session", "Message", "RunRequest", "SessionView", "Health"} <= names


def _fits(name: str, value: object) -> None:
    document = schema.document()
    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": document["$defs"]}).validate(value)


@pytest.mark.requirement("R7", "R8")
def test_what_is_written_fits_the_schema() -> None:
    session = records.Session(id="s", owner="o", hermes_session="chat-s", created_at=1, updated_at=1)
    message = records.Message(id="s.1", session_id="s", parent_id=None, role="USER", status="SENT", created_at=1)
    view = records.SessionView(session=session, messages=[records.MessageView(message=message)], has_more=False)
    _fits("SessionView", msgspec.to_builtins(view))
    _fits("RunEvent", msgspec.json.decode(events.encode(events.Answer(seq=1, run_id="s.2", t=0, segment=0, offset=0, text="a"))))


def test_a_missing_field_does_not_fit() -> None:
    with pytest.raises(jsonschema.ValidationError):
        _fits("RunEvent", {"kind": "answer", "seq": 1, "runId": "s.2", "t": 0, "segment": 0, "offset": 0})
    with pytest.raises(jsonschema.ValidationError):
        _fits("Message", {"id": "s.1"})
