import time

import pytest

from services.core.recall import estimate, query


@pytest.mark.parametrize(
    "words",
    [
        "",
        "   \n",
        "hi",
        "Hello!",
        "thanks",
        "Thank you very much!!",
        "ok",
        "OK, continue",
        "yes please, go ahead",
        "LGTM 👍",
        "👍",
        "...",
        "how are you?",
        "merci",
        "that's great",
    ],
)
def test_greetings_thanks_and_goings_on_give_nothing_to_recall_for(words: str) -> None:
    assert query.parse(words) is None


@pytest.mark.parametrize(
    "words", ["name?", "who am I?", "and the database?", "continue with the parser", "hi, what is my name", "我叫什么名字？", "JIRA-123", "deploy"]
)
def test_a_question_however_short_is_a_query(words: str) -> None:
    assert query.parse(words) is not None


def test_short_words_are_the_query_as_they_stand() -> None:
    assert query.query_text("What is\n  my name?") == "What is my name?"


def test_fenced_code_is_left_out_beside_prose() -> None:
    words = "Why does this fail?\n```python\nraise ValueError('x')\n```\nWe run it on staging."

    assert query.query_text(words) == "Why does this fail? We run it on staging."


@pytest.mark.parametrize("words", ["```\nselect name from users\n```", "ok\n~~~\nselect name from users\n~~~"])
def test_code_alone_is_still_a_query(words: str) -> None:
    assert "select name from users" in query.query_text(words)


def test_a_fence_that_never_closes_hides_what_follows() -> None:
    assert query.query_text("Explain the scheduler.\n```\nwhile True: pass\nx = 1") == "Explain the scheduler."


def test_of_a_long_message_the_beginning_and_the_end_are_kept() -> None:
    words = "Please review the login flow. " + "The weather was fine that day and nothing happened. " * 600 + "Which database do we use?"

    text = query.query_text(words)

    assert text.startswith("Please review the login flow.")
    assert text.endswith("Which database do we use?")
    assert estimate.tokens(text) <= query.QUERY_TOKENS


def test_the_request_is_found_between_pasted_logs() -> None:
    log = '2026-10-01T09:15:22.113Z [worker-3] {"level": 30, "id": 9921, "ms": 12.4}\n' * 200

    assert query.query_text(f"{log}Why is the exporter slow?\n{log}") == "Why is the exporter slow?"


@pytest.mark.parametrize("words", ["中文" * 5000, "x" * 100_000, "a b " * 50_000, "{};" * 20_000, "word " * 600 + "?" * 5000])
def test_any_long_text_is_cut_to_the_tokens_of_a_query(words: str) -> None:
    text = query.query_text(words)

    assert estimate.tokens(text) > query.QUERY_TOKENS // 4
    assert estimate.tokens(text) <= query.QUERY_TOKENS


def test_a_pasted_file_of_megabytes_is_read_well_within_a_deadline() -> None:
    started = time.perf_counter()

    assert query.parse("What does this do?\n" + "lorem ipsum dolor = sit(amet);\n" * 500_000)

    assert time.perf_counter() - started < 0.3
