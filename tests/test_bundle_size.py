"""What the build puts into the package: sizes (design §10), names, one core only (design §7)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import jupyter_hermes_chat

PACKAGE = Path(jupyter_hermes_chat.__file__).parent
STATIC = PACKAGE / "static"
LABEXTENSION = PACKAGE / "labextension"


@pytest.fixture(scope="module")
def manifest() -> dict[str, str]:
    file = STATIC / "manifest.json"
    if not file.exists():
        pytest.fail("the front end was not built: run `npm ci && npm run build` in js/")
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return found


def compressed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes()))


def test_the_core_is_at_most_60_kB_compressed(manifest: dict[str, str]) -> None:
    assert compressed(STATIC / manifest["core"]) <= 60_000


def test_the_loader_of_the_widget_is_at_most_1500_bytes_compressed(manifest: dict[str, str]) -> None:
    assert compressed(STATIC / manifest["widget"]) <= 1_500


def test_every_hashed_file_has_its_compressed_twin(manifest: dict[str, str]) -> None:
    for name in (manifest["core"], manifest["page"], manifest["pageCss"]):
        assert gzip.decompress((STATIC / f"{name}.gz").read_bytes()) == (STATIC / name).read_bytes()


def test_the_labextension_has_no_second_copy_of_the_core(manifest: dict[str, str]) -> None:
    scripts = [path.read_text(encoding="utf-8") for path in LABEXTENSION.rglob("*.js")]
    core = (STATIC / manifest["core"]).read_text(encoding="utf-8")
    assert any("application/vnd.hermes-chat.turn+json" in text for text in scripts)
    for mark in ("attachShadow", "hc-input"):
        assert mark in core
        assert not any(mark in text for text in scripts), mark


def test_the_labextension_has_the_version_of_the_package() -> None:
    assert json.loads((LABEXTENSION / "package.json").read_text())["version"] == jupyter_hermes_chat.__version__
