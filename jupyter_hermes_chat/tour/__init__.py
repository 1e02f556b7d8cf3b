"""The tour: a scripted OpenAI-compatible endpoint on loopback, so the product can be tried and tested without a model or a key.

``script`` decides what the model says next, from the request alone, so that edits, branches and repeated answers work by
themselves; ``texts`` holds the words, in English and Chinese; ``server`` speaks HTTP. Nothing of the package is imported, and
nothing that is said depends on a clock or on chance: only the pace does.
"""
