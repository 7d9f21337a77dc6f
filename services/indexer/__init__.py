"""The one writer of memories: embed, decide, write."""
