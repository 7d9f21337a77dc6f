import pytest

from services.core.adapters.bm25 import Bm25, indexed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We use Postgres", "We use Postgres"),
        ("see fix_auth_v2", "see fix_auth_v2 fixǀauthǀv2"),
        ("JIRA-123, v1.2.3.", "JIRA-123, v1.2.3. JIRAǀ123 v1ǀ2ǀ3"),
        ("call getUserName()", "call getUserName() get User Name"),
        ("HTTPServer", "HTTPServer HTTP Server"),
        ("end. Next", "end. Next"),
        ("", ""),
    ],
)
def test_identifiers_are_indexed_once_more(text: str, expected: str) -> None:
    assert indexed(text) == expected


def test_words_match_whatever_their_ending_and_case() -> None:
    bm25 = Bm25()
    assert bm25.query("deploying").indices == bm25.query("Deploys").indices


def test_a_document_weighs_its_terms_and_a_query_does_not() -> None:
    bm25 = Bm25()
    assert bm25.query("postgres postgres redis").values == [1.0, 1.0]
    document = bm25.document("postgres postgres redis")
    weights = dict(zip(document.indices, document.values, strict=True))
    assert weights[bm25.query("postgres").indices[0]] > weights[bm25.query("redis").indices[0]]


@pytest.mark.parametrize("text", ["", "the of", "\ud800", "?!"])
def test_a_text_without_words_is_an_empty_vector(text: str) -> None:
    assert Bm25().document(text).indices == [] == Bm25().query(text).indices
