"""The words of the product: records, events, errors, SSE framing and the journal's codec.

Everything here is a value or a pure function; there is no I/O, and nothing of the package is imported. JSON is camelCase on
every wire and on disk, Python attributes are snake_case (design §3). JSON Schema and the TypeScript types are generated from
these structs (``python -m jupyter_hermes_chat.protocol.generate``), and a test fails when they are stale.
"""
