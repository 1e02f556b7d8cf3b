"""TinyDB's tables over :class:`.log_storage.LogStorage`: an operation writes the rows that it touched, not the table.

TinyDB runs every change through ``_update_table(updater)``; here the updater gets a mapping that decodes the rows it touches
and remembers them. So an operation by document id costs the same at ten rows and at a hundred thousand, and TinyDB's whole API
keeps working.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from msgspec import Raw
from tinydb import TinyDB
from tinydb.table import Table

from .log_storage import LogStorage, Op, Rows, decode_row, encode_row


class Changes(MutableMapping[Any, dict[str, Any]]):
    """What TinyDB's updaters see of a table: copies of the rows that they touch, so that a failed one leaves nothing behind,
    and a record of what became of them."""

    def __init__(self, rows: Mapping[str, Raw], id_type: Callable[[str], Any]) -> None:
        self._rows, self._id_type = rows, id_type
        self._touched: dict[Any, dict[str, Any]] = {}
        self._gone: set[Any] = set()
        self._cleared = False

    def _old(self, doc_id: Any) -> Raw | None:
        return None if self._cleared or doc_id in self._gone else self._rows.get(str(doc_id))

    def __getitem__(self, doc_id: Any) -> dict[str, Any]:
        if doc_id not in self._touched:
            old = self._old(doc_id)
            if old is None:
                raise KeyError(doc_id)
            self._touched[doc_id] = decode_row(old)
        return self._touched[doc_id]

    def __setitem__(self, doc_id: Any, row: dict[str, Any]) -> None:
        self._touched[doc_id] = row

    def __delitem__(self, doc_id: Any) -> None:
        if doc_id not in self:
            raise KeyError(doc_id)
        self._touched.pop(doc_id, None)
        self._gone.add(doc_id)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._touched or self._old(doc_id) is not None

    def __iter__(self) -> Iterator[Any]:
        old = [doc_id for doc_id in map(self._id_type, self._rows) if self._old(doc_id) is not None]
        known = set(old)
        return iter([*old, *(doc_id for doc_id in self._touched if doc_id not in known)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def clear(self) -> None:
        self._touched.clear()
        self._cleared = True

    def op(self, table: str) -> Op:
        op = Op(t=table, clear=self._cleared)
        if not self._cleared:
            op.gone = tuple(str(doc_id) for doc_id in self._gone if str(doc_id) in self._rows)
        for doc_id, row in self._touched.items():
            raw = Raw(encode_row(row))
            if raw != self._old(doc_id):
                op.set[str(doc_id)] = raw
        return op


class LogTable(Table):
    """TinyDB's table without its query cache, which would hand one answer to two callers and outlive other processes' writes."""

    _storage: LogStorage

    def __init__(self, storage: LogStorage, name: str, cache_size: int = 0, persist_empty: bool = False) -> None:
        super().__init__(storage, name, cache_size=0)
        self._reloads = storage.reloads
        if persist_empty:  # TinyDB would clear a table that exists
            self._update_table(lambda _: None)

    def raw(self, doc_id: object) -> Raw | None:
        """A row's JSON, under ``storage.reading()`` or a transaction."""
        return self._storage.tables.get(self._name, {}).get(str(doc_id))

    def put(self, doc_id: object, row: object) -> None:
        """Writes a whole row, new or not, inside a transaction of the storage; *row* is what msgspec can encode. (TinyDB's
        ``upsert`` merges into the old row, which is decoded and compared for that: three times the cost.)"""
        self._storage.change(Op(t=self._name, set={str(doc_id): Raw(encode_row(row))}))
        self._next_id = None  # or the next insert could choose this id

    def insert(self, document: Mapping[str, Any]) -> int:
        with self._storage.transaction():  # an id is chosen under the lock
            return super().insert(document)

    def insert_multiple(self, documents: Iterable[Mapping[str, Any]]) -> list[int]:
        with self._storage.transaction():
            return super().insert_multiple(documents)

    def upsert(self, document: Mapping[str, Any], cond: Any = None) -> list[int]:
        with self._storage.transaction():
            return super().upsert(document, cond)

    def _get_next_id(self) -> int:
        if self._reloads != self._storage.reloads:
            self._reloads = self._storage.reloads
            self._next_id = None
        next_id: int = super()._get_next_id()  # type: ignore[no-untyped-call]
        return next_id

    def _read_table(self) -> dict[str, Mapping[str, Any]]:
        self._storage.refresh()
        return Rows(self._storage.tables.get(self._name, {}))  # type: ignore[return-value]

    def _update_table(self, updater: Callable[[Any], None]) -> None:
        storage = self._storage
        with storage.transaction():
            rows = storage.tables.get(self._name)
            changes = Changes({} if rows is None else rows, self.document_id_class)
            updater(changes)
            op = changes.op(self._name)
            if op.clear or op.gone or op.set or rows is None:
                storage.change(op)


class LogDB(TinyDB):
    table_class = LogTable  # type: ignore[assignment]
    default_storage_class = LogStorage  # type: ignore[assignment]

    def table(self, name: str, **kwargs: Any) -> LogTable:
        table = super().table(name, **kwargs)
        assert isinstance(table, LogTable)
        return table

    @property
    def storage(self) -> LogStorage:
        assert isinstance(self._storage, LogStorage)
        return self._storage
