import httpx
import pytest
from httpx_sse import EventSource

from jupyter_hermes_chat.protocol.sse import HEADERS, HEARTBEAT, PADDING, frame, parse_last_event_id


def test_a_frame_carries_id_name_and_one_data_line() -> None:
    assert frame(b"{}", id=3, event="turn") == b"id: 3\nevent: turn\ndata: {}\n\n"


def test_a_line_break_in_data_is_refused() -> None:
    with pytest.raises(ValueError, match="line break"):
        frame(b"a\nb")


@pytest.mark.requirement("R18", "R37")
def test_silence_is_no_event_wherever_it_falls() -> None:
    stream = PADDING + HEARTBEAT + frame(b"{}", id=1) + HEARTBEAT + HEARTBEAT + frame(b"[]", id=2) + HEARTBEAT
    source = EventSource(httpx.Response(200, headers=HEADERS, content=stream))
    assert [(sse.id, sse.data) for sse in source.iter_sse()] == [("1", "{}"), ("2", "[]")]


@pytest.mark.requirement("R18")
@pytest.mark.parametrize(("value", "number"), [(None, 0), ("", 0), ("0", 0), ("17", 17)])
def test_last_event_id_is_a_number_from_zero(value: str | None, number: int) -> None:
    assert parse_last_event_id(value) == number


@pytest.mark.parametrize("value", ["-1", "1.5", "x", "٣", "9" * 16])
def test_another_last_event_id_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="whole number"):
        parse_last_event_id(value)
