"""Hermes in a kernel: the magics, what a turn shows in a cell, the reply as a value, and the chat widget.

It talks to the server over HTTP only, through :mod:`..client`. Views come and go, and so does a kernel: runs live elsewhere.
"""
