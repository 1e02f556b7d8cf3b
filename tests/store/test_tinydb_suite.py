"""TinyDB's own tests, from its source distribution, over our log: only with ``make fuzz``, since it needs the package index."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

# TinyDB's query cache is left out on purpose: it would hand one row to two callers and outlive other processes' writes.
CACHE = {"test_query_cache", "test_query_cache_size", "test_lru_cache", "test_search", "test_search_path"}
# These ask for the name of TinyDB's own class.
NAMES = {"test_table_repr", "test_access_storage", "test_storage_access"}

FIXTURES = """
import pytest
from tinydb.middlewares import CachingMiddleware
from tinydb.storages import MemoryStorage
from jupyter_hermes_chat.store.log_table import LogDB

@pytest.fixture
def db(tmp_path):
    db_ = LogDB(tmp_path / "db.jsonl")
    db_.insert_multiple({"int": 1, "char": c} for c in "abc")
    yield db_
    db_.close()

@pytest.fixture
def storage():
    return CachingMiddleware(MemoryStorage)()

def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.originalname not in LEFT_OUT]
"""


@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "fuzz", reason="only with make fuzz: it downloads TinyDB's tests")
def test_tinydbs_own_tests_pass_over_the_log(tmp_path: Path) -> None:
    version = importlib.metadata.version("tinydb")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:"]
    subprocess.run([*pip, f"tinydb=={version}"], cwd=tmp_path, check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    tests = tmp_path / f"tinydb-{version}" / "tests"
    (tests / "conftest.py").write_text(f"LEFT_OUT = {CACHE | NAMES}\n{FIXTURES}", encoding="utf-8")
    for name in ("test_tinydb.py", "test_tables.py"):
        source = (tests / name).read_text(encoding="utf-8")
        source = source.replace("TinyDB(storage=MemoryStorage)", "_LogDB(_mkdtemp() + '/x.jsonl')")
        ours = "from tempfile import mkdtemp as _mkdtemp\nfrom jupyter_hermes_chat.store.log_table import LogDB as _LogDB\n"
        (tests / name).write_text(ours + source, encoding="utf-8")
    run = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider", "tests"]
    result = subprocess.run(run, cwd=tests.parent, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert re.search(r"\b14[0-9] passed", result.stdout), result.stdout
