"""The Hermes Bridge: a process of its own that drives Hermes Agent and outlives the Jupyter server (design §2, §6).

``server`` speaks HTTP, ``broker`` starts and stops runs, ``run_log`` numbers and keeps their events, ``pool`` and ``process``
hold one worker per chat session, ``inventory`` asks the probe what is configured, ``tour_endpoint`` owns the scripted model,
``locate`` finds Hermes, ``environment`` says what a worker is started with, ``place`` is the lock and the address in the
runtime folder, ``workspace`` the private folder of a session. ``worker`` and ``probe`` run under Hermes' interpreter and import
nothing of ours. Everything else knows ``protocol`` only; nothing here knows the Jupyter server, and nothing there imports this
but the command line.
"""
