"""Ids of memories in 16 bytes instead of 36, for what names many of them."""


def shortened(memory_id: str) -> bytes | str:
    """The bytes of a UUID that is spelt as usual; any other id as it is."""
    try:
        short = bytes.fromhex(memory_id.replace("-", ""))
    except ValueError:
        return memory_id
    return short if len(short) == 16 and _spelt(short) == memory_id else memory_id


def lengthened(short: bytes | str) -> str:
    return short if isinstance(short, str) else _spelt(short)


def _spelt(short: bytes) -> str:
    digits = short.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
