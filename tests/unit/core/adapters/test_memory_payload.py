import uuid
from collections.abc import Callable
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.core import models
from services.core.adapters import memory_payload, points

ID = "6f1d2a9c-3b1e-4c55-9a44-0f1f2e3d4c5b"


def memory(number: int, at: float) -> models.Memory:
    identity = models.MemoryId(str(uuid.UUID(int=number)))
    return models.Memory(
        id=identity,
        team="acme",
        owner="leo",
        text="We use Postgres",
        category=models.Category.TECHNICAL_CHOICE,
        confidence=0.9,
        evidence=(models.Evidence("We use Postgres", "t1", at),),
        lineage=identity,
        created_at=at,
        said_at=at,
        reinforced_at=at,
        accessed_at=at,
    )


def page(newest: Callable[[int], list[models.Memory]], since: Callable[[float], list[models.Memory]], limit: int, offset: int) -> list[models.Memory]:
    return points.page(newest, since, limit, offset, at=attrgetter("created_at"), ordered=memory_payload.newest_first)


def test_a_memory_survives_its_payload() -> None:
    assert memory_payload.decode(memory_payload.encode(memory(1, 5.5))) == memory(1, 5.5)


@given(times=st.lists(st.sampled_from([1.0, 2.0, 3.0]), max_size=8), limit=st.integers(-1, 9), offset=st.integers(-1, 9))
def test_a_page_is_the_same_as_from_a_sorted_list(times: list[float], limit: int, offset: int) -> None:
    memories = [memory(number, at) for number, at in enumerate(times)]
    by_time_alone = sorted(memories, key=lambda each: -each.created_at)
    found = page(lambda count: by_time_alone[:count], lambda time: [each for each in by_time_alone if each.created_at >= time], limit, offset)
    start = max(0, offset)
    assert found == memory_payload.newest_first(memories)[start : start + max(0, limit)]


def test_a_page_does_not_ask_again_when_it_ends_between_two_times() -> None:
    memories = [memory(1, 9.0), memory(2, 8.0), memory(3, 7.0)]
    assert page(lambda count: memories[:count], lambda time: pytest.fail("asked"), 2, 0) == memories[:2]


@pytest.mark.parametrize(("given_ids", "valid"), [([ID, ID.upper(), "x", "", ID.replace("-", "")], [ID]), ([], [])])
def test_only_what_can_be_an_id_is_looked_up(given_ids: list[str], valid: list[str]) -> None:
    assert points.valid_ids(given_ids) == valid


@pytest.mark.parametrize(
    ("model", "name"),
    [("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"), ("nomic-ai/nomic-embed-text-v1.5", "nomic-ai_nomic-embed-text-v1.5"), ("../x", "_x"), ("..", "_")],
)
def test_a_collection_is_named_after_its_model_and_stays_in_its_folder(model: str, name: str) -> None:
    assert points.collection_name(model) == name
