"""A folder of markdown files kept as notes: walk, plan, put.

walking ──► planning (pure: what is new, changed, moved, gone) ──► syncing ──► a running BRB, over its HTTP API
"""
