import uuid

import pytest
from msgspec.structs import replace

from services.core import memory_ids, models

LEO = models.Principal("acme", "leo")
OLD = models.Memory(
    id=models.MemoryId("00000000-0000-0000-0000-000000000001"),
    team="acme",
    owner="leo",
    text="We use Postgres",
    category=models.Category.TECHNICAL_CHOICE,
    confidence=0.9,
    lineage="00000000-0000-0000-0000-000000000001",
    created_at=1.0,
    said_at=1.0,
    reinforced_at=1.0,
    accessed_at=1.0,
)


def test_the_same_fact_of_a_turn_has_the_same_id_and_it_is_a_uuid() -> None:
    identity = memory_ids.of_fact(LEO, "t1", 0)
    assert identity == memory_ids.of_fact(replace(LEO, role=models.Role.ADMIN), "t1", 0)
    assert str(uuid.UUID(identity)) == identity


@pytest.mark.parametrize(
    ("principal", "turn", "index"),
    [(LEO, "t1", 1), (LEO, "t2", 0), (models.Principal("acme", "ana"), "t1", 0), (models.Principal("evil", "leo"), "t1", 0)],
)
def test_another_fact_turn_or_person_has_another_id(principal: models.Principal, turn: str, index: int) -> None:
    assert memory_ids.of_fact(principal, turn, index) != memory_ids.of_fact(LEO, "t1", 0)


def test_a_version_is_told_by_what_it_says_and_when_it_was_said() -> None:
    versions = [OLD, replace(OLD, text="We use MySQL"), replace(OLD, said_at=2.0), replace(OLD, category=models.Category.DECISION)]
    assert len({memory_ids.of_version(version) for version in versions}) == 4
    assert memory_ids.of_version(OLD) == memory_ids.of_version(replace(OLD, accessed_at=9.0))
