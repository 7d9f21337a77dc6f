"""Relays every call untouched; recalls and injects on a new human turn; hands answered turns to the worker."""
