"""What is kept on disk: session trees, journals of runs, the context of turns, large results (design §4).

Here live the rows and their durability. What the rows *mean* (which branch is active, who may write) is decided in
``tree.py`` and ``runs/``.
"""
