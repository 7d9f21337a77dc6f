"""`brb index`: the indexer's side of it, for the command."""

from services.indexer.notes.syncing import Settings, forget, sync, watch

__all__ = ["forget", "settings", "sync", "watch"]


def settings(*, project: str, prune: bool) -> Settings:
    return Settings(project=project, prune=prune)
