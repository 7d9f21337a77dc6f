import pytest

from services.core.recall import estimate


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("", 0),
        ("We use Postgres 15 as our main database.", 10),
        ("for (let i = 0; i < n; i++) { sum += a[i]; }", 22),
        ("我们使用数据库", 7),
        ("👍🎉", 4),
        ("Доброе утро", 5),
        ("9f86d081884c7d659a2feaa0c55ad015", 20),
        ("\n\n\n", 1),
    ],
)
def test_a_text_is_never_estimated_at_fewer_tokens_than_tokenizers_make_of_it(text: str, least: int) -> None:
    assert estimate.tokens(text) >= least


def test_prose_is_estimated_at_less_than_twice_its_words() -> None:
    prose = "The release is on Friday, so the team wants every open change merged by Thursday evening. " * 20

    assert estimate.tokens(prose) < 2.5 * len(prose.split())


@pytest.mark.parametrize("most", [0, 1, 2, 5, 9, 30, 1000])
@pytest.mark.parametrize("text", ["one two three four five six", "中文字符串没有空格", "x" * 50, "a\nb\n\nc", "", "  spaces   within  "])
def test_head_and_tail_stay_within_the_tokens(text: str, most: int) -> None:
    start, end = estimate.head(text, most), estimate.tail(text, most)

    assert estimate.tokens(start) <= most
    assert estimate.tokens(end) <= most
    assert text.startswith(start)
    assert text.endswith(end)


def test_what_fits_is_left_whole() -> None:
    assert estimate.head("one two", 4) == estimate.tail("one two", 4) == "one two"


def test_a_cut_falls_between_words() -> None:
    assert estimate.head("alpha beta gamma", 5).strip() == "alpha beta"
    assert estimate.tail("alpha beta gamma", 5).strip() == "beta gamma"


def test_a_word_that_is_all_there_is_is_cut() -> None:
    assert 0 < len(estimate.head("x" * 100, 5)) <= 15
