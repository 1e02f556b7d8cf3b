"""Where events come from: one contract, one module a backend. Knows ``protocol``, ``reduce`` and ``tree`` only."""
