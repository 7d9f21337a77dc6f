"""What tells whether the memory is any good, without anybody's labels (pure). Caveats of each signal: docs/quality.md."""
