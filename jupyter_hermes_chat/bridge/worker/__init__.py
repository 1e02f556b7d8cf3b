"""The worker: one process for one chat session, with Hermes' ``AIAgent`` inside (design §2, §6).

It runs under *Hermes'* interpreter, so it imports the standard library and Hermes and nothing else of this package. It is a
folder instead of a file so that each idea has a room, and it is loaded under a name of its own (``__main__``), so that its
modules never shadow Hermes', which are called ``agent``, ``tools`` or ``utils``.

Life: ``main`` takes the pipes, ``hermes`` finds what this version of Hermes offers or says what is missing, then lines come
in (``docs/protocol.md``) and ``session`` carries out one run at a time. Every run brings its whole context, so nothing that
lives here cannot be lost.

* ``pipe``: lines of JSON in and out, and nothing else on them
* ``words``: text as it may leave: no lone surrogates, no decorations, no keys
* ``hermes``: the names that we use of Hermes, where they are, and what this version can do
* ``agent``: one ``AIAgent`` as the person's Hermes is configured
* ``session``: a run, from its line to its ``turn_end``
* ``narrator``: Hermes' callbacks → events
* ``pauses``: what waits for a person
* ``context``: model messages: what a turn added, and whether the agent still stands on the given branch
* ``failure``: why a turn failed, as a code and a sentence
"""
