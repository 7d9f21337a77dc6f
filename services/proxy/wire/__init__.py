"""The vendors' wire formats, as pure functions over bytes."""
