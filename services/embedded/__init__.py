"""BRB on one machine: proxy and indexer in one process over one Edge shard, and the supervisor behind `brb up`."""
