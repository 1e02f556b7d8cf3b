"""Runs on the server: started, recorded, fanned out to readers, stopped, taken up again.

Life of a run: :mod:`.service` checks and writes the rows, :mod:`.recorder` turns a runtime's frames into the journal and a
:mod:`.channel`, readers follow the channel. Nothing here knows HTTP, and nothing here decides what a tree looks like.
"""
