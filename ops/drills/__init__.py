"""Drills: a real BRB under traffic, a fault, its end, and then the books: every answered turn against what is remembered.

python -m ops.drills [NAME …] [--seconds N]      (`make drills`: all of them)

installation   BRB as `brb up` runs it, in a folder of its own; its processes by name
upstream       a vendor's API in a process of its own, whose answers the callers can tell byte by byte
talking        people of several teams in many conversations; each turn states one fact that the rules are sure to learn
gate           stands before llama.cpp or a language model, and misbehaves as it is told
faults         what is done to BRB, one function a drill
proof          pure: the turns against the memories; what may not be
load           200 streams at once, so many turns a second: memory of every process, and where learning falls behind
"""
