from typing import Any

import pytest

from services.core import api, models
from services.proxy.web import browsing
from tests.support import in_memory

NOW, DAY = in_memory.NOW, 86_400


@pytest.mark.parametrize(
    ("query", "filters"),
    [
        ({}, browsing.Filters()),
        ({"q": "  a ", "scope": "team", "status": "all", "category": "todo", "project": " p ", "age": "week", "unused": "1", "page": "3"}, None),
        ({"scope": "mine", "status": "", "category": "x", "age": "y", "unused": "0", "page": "0"}, browsing.Filters()),
        ({"page": "-1"}, browsing.Filters()),
        ({"page": "1e9"}, browsing.Filters()),
        ({"page": "²"}, browsing.Filters()),
        ({"page": "9" * 400}, browsing.Filters()),
        ({"page": "999999999"}, browsing.Filters(page=100_000)),
    ],
)
def test_a_query_is_read_leniently(query: dict[str, str], filters: browsing.Filters | None) -> None:
    expected = filters or browsing.Filters("a", "team", "all", "todo", "p", "week", unused=True, page=3)

    assert browsing.Filters.of(query) == expected


def test_an_address_leads_to_the_same_filters() -> None:
    from urllib.parse import parse_qsl, urlsplit

    filters = browsing.Filters("a & b", "team", "all", "todo", "ü/?", "week", unused=True, page=3)

    assert browsing.Filters.of(dict(parse_qsl(urlsplit(filters.address()).query))) == filters
    assert browsing.Filters().address() == "/ui"
    assert browsing.Filters(q="a", page=2).address(page=1) == "/ui?q=a"


@pytest.mark.parametrize(
    ("fields", "filters", "taken"),
    [
        ({}, {}, True),
        ({"visibility": models.Visibility.TEAM}, {"scope": "private"}, False),
        ({"status": models.Status.PENDING}, {}, False),
        ({"status": models.Status.PENDING}, {"status": "all"}, True),
        ({"category": models.Category.TODO}, {"category": "todo"}, True),
        ({"project": "x"}, {"project": "X"}, False),
        ({"said_at": NOW - 6 * DAY}, {"age": "week"}, True),
        ({"said_at": NOW - 8 * DAY}, {"age": "week"}, False),
        ({"said_at": NOW - 92 * DAY}, {"age": "older"}, True),
        ({"said_at": NOW - 20 * DAY}, {"age": "older"}, False),
        ({"said_at": NOW - 2 * DAY}, {"unused": True}, True),
        ({"said_at": NOW - 2 * DAY, "accessed_at": NOW - DAY}, {"unused": True}, False),
        ({"said_at": NOW - 9 * DAY, "accessed_at": NOW - DAY, "reinforced_at": NOW - DAY}, {"unused": True}, True),
    ],
)
def test_which_memories_a_list_takes(fields: dict[str, Any], filters: dict[str, Any], taken: bool) -> None:
    memory = api.memory_of(in_memory.memory("A text.", **fields), models.LOCAL)

    assert browsing.Filters(**filters).takes(memory, NOW) is taken
