"""The quickstart as a file; ``make test`` runs it with nbval."""

from __future__ import annotations

from pathlib import Path

import nbformat

QUICKSTART = Path(__file__).parent.parent.parent / "notebooks" / "quickstart.ipynb"


def test_it_is_valid_and_every_message_is_followed_by_a_cell_that_is_compared() -> None:
    notebook = nbformat.read(QUICKSTART, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        live = "nbval-ignore-output" in cell.metadata.get("tags", [])
        assert live == (cell.source.startswith(("%%hermes", "%hermes list", "%hermes chat")) or "= %hermes" in cell.source)
        assert not (live and cell.outputs), "what differs from run to run is not kept"
    compared = [bool(cell.outputs) for cell in code]
    messages = [n for n, cell in enumerate(code) if cell.source.startswith("%%hermes")]
    assert messages
    for n in messages:
        assert any(compared[n + 1 : n + 3]), "right behind it, or behind the answer to its question"
