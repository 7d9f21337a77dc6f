"""The tools of brain-kit, each at least once."""

import json
from typing import Any

import pytest

from services.core import models
from services.core.recall import budget
from services.proxy.mcp import brain
from services.proxy.mcp.tools import Caller
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory
from tests.support.tool_calls import call, failure, put

NAMES = """
    put get delete list count bulk_put update_metadata search similar search_by_tag graph_entities graph_relationships graph_backlinks
    graph_find_by_entity graph_all_entities cache_clear cache_clean token_count extract_entities stats export import
"""


def page(caller: Caller, title: str, content: str, **fields: Any) -> str:
    put_page: str = call(caller, "brain_put", title=title, content=content, **fields)["id"]
    return put_page


def test_the_names_are_those_of_brain_kit() -> None:
    assert [tool.name for tool in brain.TOOLS] == [f"brain_{name}" for name in NAMES.split()]


def test_a_page_is_put_read_counted_listed_replaced_and_deleted(caller: Caller) -> None:
    one = page(caller, "Auth refactor", "Migrated to RS256.\n\n<b>Done</b>", metadata={"status": "done", "<x>": "a"})

    got = call(caller, "brain_get", id=one)
    assert (got["title"], got["content"], got["metadata"]) == ("Auth refactor", "Migrated to RS256.\n\n‹b>Done‹/b>", {"status": "done", "‹x>": "a"})
    assert call(caller, "brain_count") == {"count": 1}
    listed = call(caller, "brain_list")
    assert ([one_page["id"] for one_page in listed["pages"]], listed["total"]) == ([one], 1)
    assert page(caller, "Auth refactor", "Migrated to EdDSA.", id=one) == one
    assert call(caller, "brain_get", id=one)["content"] == "Migrated to EdDSA."
    assert call(caller, "brain_delete", id=one) == {"id": one, "deleted": True}
    assert failure(caller, "brain_get", id=one) == f"there is no note {one}"
    assert call(caller, "brain_count") == {"count": 0}


def test_a_list_goes_on_where_it_says(caller: Caller) -> None:
    every = {page(caller, f"Page {n}", "Some text") for n in range(30)}

    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        part = call(caller, "brain_list", offset=offset, tokenBudget=500)
        assert budget.tokens(json.dumps(part, separators=(",", ":"))) <= 500
        found += [one["id"] for one in part["pages"]]
        offset = part.get("next")

    assert (len(found), set(found)) == (30, every)


def test_metadata_is_set_and_taken_away_without_touching_the_content(caller: Caller) -> None:
    one = page(caller, "Deploy", "To Hetzner", metadata={"status": "open", "owner": "kim"})

    assert call(caller, "brain_update_metadata", id=one, metadata={"status": "done", "owner": None})["metadata"] == {"status": "done"}
    assert call(caller, "brain_get", id=one)["content"] == "To Hetzner"


def test_a_search_gives_the_best_passages_within_its_budget(caller: Caller, parts: Parts) -> None:
    one = page(caller, "Sprint retrospective", "What slowed us down: the API rate limits.")
    for n in range(20):
        page(caller, f"Rate limits {n}", "The API has rate limits. " * 30)
    keep(parts, memory("API rate limits slow us down"))  # no page

    found = call(caller, "brain_search", query="API rate limits slowed us down", tokenBudget=700, minScore=0.1)

    assert one in [each["id"] for each in found["pages"]]
    assert found["pages"][0]["score"] > 0
    assert "API" in found["pages"][0]["content"]
    assert "left out for the token budget" in found["notices"][-1]
    assert budget.tokens(json.dumps(found, separators=(",", ":"))) <= 700


def test_similar_pages_and_those_of_a_tag_are_found(caller: Caller) -> None:
    one = page(caller, "Postgres backup", "We back up the Postgres database each night. #infra")
    like = page(caller, "Postgres restore", "We restore the Postgres database from the backup of the night. #infra")
    page(caller, "Lunch", "Soup on Mondays")

    assert call(caller, "brain_similar", id=one)["pages"][0]["id"] == like
    assert {each["id"] for each in call(caller, "brain_search_by_tag", tag="#infra")["pages"]} == {one, like}


def test_the_graph_is_read_by_page_title_and_entity(caller: Caller) -> None:
    target = page(caller, "Hosting", "Where it runs")
    one = page(caller, "Database", "See [[Hosting]] and ask @Alice about #infra at https://db.example")

    kinds = [entity["kind"] for entity in call(caller, "brain_graph_entities", pageId=one)["entities"]]
    assert sorted(kinds) == ["hashtag", "mention", "url", "wikilink"]
    targets = {edge["value"]: edge["targets"] for edge in call(caller, "brain_graph_relationships", pageId=one)["relationships"]}
    assert targets["Hosting"] == [target]
    assert call(caller, "brain_graph_backlinks", title="hosting") == {"pageIds": [one], "count": 1}
    assert call(caller, "brain_graph_find_by_entity", entityType="mention", value="alice") == {"pageIds": [one], "count": 1}
    assert call(caller, "brain_graph_all_entities", entityType="hashtag")["values"] == [{"value": "infra", "notes": 1}]


def test_tokens_entities_figures_and_the_cache(caller: Caller) -> None:
    page(caller, "Database", "Postgres")
    call(caller, "brain_search", query="which database")

    assert call(caller, "brain_token_count", text="Hello world")["tokens"] == 2
    assert [each["value"] for each in call(caller, "brain_extract_entities", text="[[A]] #b")["entities"]] == ["A", "b"]
    assert call(caller, "brain_stats")["notes"] == 1
    assert call(caller, "brain_cache_clean") == {"removed": 0}
    assert call(caller, "brain_cache_clear") == {"removed": 1}


def test_what_is_exported_piece_by_piece_is_imported_again_the_same(caller: Caller) -> None:
    texts = {f"Page {n}": f"<b>Text</b> {n}\n" + "word " * 300 for n in range(6)}
    imported = call(caller, "brain_bulk_put", pages=[{"title": title, "content": content} for title, content in texts.items()])
    assert imported["imported"] == 6

    pages: list[dict[str, Any]] = []
    offset: int | None = 0
    while offset is not None:
        part = call(caller, "brain_export", offset=offset, tokenBudget=1_000)
        assert budget.tokens(json.dumps(part, separators=(",", ":"))) <= 1_000
        pages += part["pages"]
        offset = part.get("next")
    for one in imported["ids"]:
        call(caller, "brain_delete", id=one)
    call(caller, "brain_import", pages=pages)

    assert {one["title"]: one["content"] for one in pages} == texts
    assert call(caller, "brain_count") == {"count": 6}
    assert {one["title"]: one["content"] for one in call(caller, "brain_export", tokenBudget=10_000)["pages"]} == texts


def test_an_export_names_pages_that_fit_into_no_result_and_goes_on(caller: Caller) -> None:
    long = page(caller, "Long", "word " * 12_000)
    short = page(caller, "Short", "word")

    found: dict[str, list[str]] = {"pages": [], "tooLong": []}
    offset: int | None = 0
    while offset is not None:
        part = call(caller, "brain_export", offset=offset)
        found["pages"] += [one["id"] for one in part["pages"]]
        found["tooLong"] += part.get("tooLong", [])
        offset = part.get("next")

    assert found == {"pages": [short], "tooLong": [long]}


@pytest.mark.parametrize("name", ["brain_get", "brain_similar"])
def test_a_page_that_is_too_long_is_cut_and_says_so(caller: Caller, name: str) -> None:
    one = page(caller, "Long", "It is long. " * 5_000, metadata={"notes": ["a long story " * 50] * 90})
    page(caller, "Also long", "It is long. " * 5_000, metadata={"notes": ["a long story " * 50] * 90})

    got = call(caller, name, id=one, tokenBudget=1_000)

    shown = got if name == "brain_get" else got["pages"][0]
    assert shown["cut"]
    assert budget.tokens(json.dumps(got, separators=(",", ":"))) <= 1_000


def test_a_page_of_another_is_no_page_of_mine(caller: Caller, parts: Parts) -> None:
    theirs = put(caller, "A diary", title="Diary", principal=models.Principal("local", "ana"))
    shared = put(caller, "For all", title="All", principal=models.Principal("local", "ana", models.Role.CURATOR), visibility=models.Visibility.TEAM)

    assert failure(caller, "brain_get", id=theirs) == f"there is no note {theirs}"
    assert failure(caller, "brain_delete", id=theirs) == f"there is no note {theirs}"
    assert call(caller, "brain_export")["pages"] == []
    assert [one["id"] for one in call(caller, "brain_list")["pages"]] == [shared]


def test_what_has_no_counterpart_is_refused_by_name(caller: Caller) -> None:
    assert "skipCache" in failure(caller, "brain_search", query="x", skipCache=True)
    assert "It takes: nothing" in failure(caller, "brain_cache_clean", ttlSeconds=3600)
