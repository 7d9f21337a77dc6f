"""Ids of memories in 16 bytes."""

import pytest

from services.core.adapters.short_ids import lengthened, shortened

UUID = "0a1b2c3d-4e5f-5678-9abc-def012345678"


def test_a_uuid_takes_16_bytes_and_comes_back() -> None:
    short = shortened(UUID)
    assert isinstance(short, bytes)
    assert len(short) == 16
    assert lengthened(short) == UUID


@pytest.mark.parametrize(
    "other", ["", "m1", UUID.upper(), UUID.replace("-", ""), f"{{{UUID}}}", UUID + "00", "0a1b2c3d 4e5f56789abcdef012345678", "-" * 36]
)
def test_whatever_else_an_id_is_it_comes_back_as_it_was(other: str) -> None:
    assert shortened(other) == other
    assert lengthened(other) == other
