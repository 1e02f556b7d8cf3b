"""``kill -9`` at any moment: nothing that was acknowledged is lost, nothing is doubled, everything can be read (R23, design §10).

``make fuzz`` does it three hundred times.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_hermes_chat.store.tinydb_store import TinyDBStore

KILLS = 300 if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else 15

WRITER = """
import sys
from pathlib import Path
from jupyter_hermes_chat.protocol.events import Answer
from jupyter_hermes_chat.store import log_storage
from jupyter_hermes_chat.store.tinydb_store import TinyDBStore

log_storage.COMPACT_BYTES = 50_000  # so that compactions are among what is killed
store = TinyDBStore(Path(sys.argv[1]))
handle = store.open_session(sys.argv[2], "me")
run_id = handle.messages()[1].id
journal = handle.journal(run_id)
while True:
    n = journal.last_seq + 1
    journal.append([Answer(seq=n, run_id=run_id, t=n, segment=1, offset=9 * (n - 1), text=f"{n:08} ")])
    with handle.transaction() as writer:
        writer.update_message(run_id, content="x" * (n * 997 % 9000))
        writer.add_message(parent_id=run_id, role="USER", status="SENT", content=str(n))
        writer.update_session(title=str(n))
    print(n, flush=True)
"""


@pytest.mark.requirement("R23")
def test_a_killed_process_loses_and_doubles_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    store = TinyDBStore(tmp_path)
    session_id = store.create_session("me").id
    with store.open_session(session_id, "me").transaction() as writer:
        user = writer.add_message(parent_id=None, role="USER", status="SENT")
        run_id = writer.add_message(parent_id=user.id, role="ASSISTANT", status="RUNNING").id
    store.close()
    chance = random.Random(tmp_path.name)
    acknowledged = 0
    for _ in range(KILLS):
        writing = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), session_id], stdout=subprocess.PIPE)
        assert writing.stdout is not None
        with writing.stdout:
            for _ in range(chance.randrange(1, 60)):
                acknowledged = int(writing.stdout.readline())
            writing.kill()
            rest = writing.stdout.read().split(b"\n")[:-1]
        writing.wait()
        acknowledged = max([acknowledged, *map(int, rest)])

        store = TinyDBStore(tmp_path)
        handle = store.open_session(session_id, "me")
        events = handle.events(run_id)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert acknowledged <= len(events) <= acknowledged + 1
        messages = handle.messages()[2:]
        numbers = [int(message.content) for message in messages]
        assert numbers == sorted(set(numbers))
        assert acknowledged in numbers
        assert handle.session().title == messages[-1].content
        assert store.list_sessions("me")[0][0].session == handle.session()
        assert store.unfinished_runs() == [("me", run_id)]
        store.close()
