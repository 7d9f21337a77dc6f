"""The page for people, at `/ui`: server-rendered, readable and usable without a script; htmx and a few keys make it quicker.

    a request ─► entrance (host, token or session) ─► sessions.checked (CSRF) ─► a handler here ─► the function behind the route of the same purpose
                                                                                    │
                                              visits.Visit: who is here; renders templates/*.html with what shown, differing, drawing, prose make

Nothing is decided here: what somebody sees and may do is what the memory API would answer him. Rendering runs in the handlers' threads, not on the
event loop that relays.
"""
