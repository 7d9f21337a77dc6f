import pytest

from services.worker.extraction import own_words


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("We use Postgres 15", "we use Postgres 15", "we use Postgres 15"),
        ("we use postgres 15.", "we use Postgres 15 and Redis", "we use Postgres 15"),
        ("I use tmux", "I use vim and tmux", "I use tmux"),
        ("I live in Ottawa", "I work at Shopify and live in Ottawa", "I live in Ottawa"),
        ("I work at Shopify", "I work at Shopify and I live in Ottawa", "I work at Shopify"),
        ("I live in Ottawa", "I work at Shopify and I live in Ottawa", "I live in Ottawa"),
        ("show diffs only", "please just show diffs only", "show diffs only"),
        ("it's “Ana's”", "it’s Ana’s", "it’s Ana’s"),
        ("ich wohne in Berlin", "ich wohne in Berlin, weil es billig ist", "ich wohne in Berlin"),
        ("お茶が好きです", "お茶が好きです", "お茶が好きです"),
    ],
)
def test_whole_clauses_are_cut_out_of_what_was_said(text: str, quote: str, expected: str) -> None:
    assert own_words.cut(text, quote) == expected


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("", "we use Postgres"),
        ("we use Postgres 16", "we use Postgres 15"),
        ("the user uses Postgres", "we use Postgres"),
        ("I live in Berlin", "ich wohne in Berlin"),
        ("we use Redis", "I don't think we use Redis"),
        ("we use Redis", "we never use Redis"),
        ("I use emacs", "I use vim, not emacs"),
        ("we use Postgres", "we use Postgres if it scales"),
        ("we use Postgres", "we use Postgres or MySQL"),
        ("we use Redis", "if it fails, we use Redis"),
        ("we use Redis", "we use Redis, unless it is down"),
        ("we use MySQL", "we use MySQL in staging"),
        ("we use Postgres in production", "we use Postgres in staging and MySQL in production"),
        ("my boss uses Linux", "my boss uses Windows and I use Linux"),
        ("Ana manages Bob", "Bob manages Ana"),
        ("we use Postgres", "we use Postgres nowhere"),
        ("I use Ana", "I use vim because Ana and Bob do"),
        ("my mail is EMAIL_1", "my mail is <EMAIL_1>"),
        ("コーヒーが好き", "コーヒーが好きではない"),
    ],
)
def test_what_the_words_do_not_say_is_not_cut_out_of_them(text: str, quote: str) -> None:
    assert own_words.cut(text, quote) is None


@pytest.mark.parametrize(
    ("text", "whole", "expected"),
    [
        ("use Postgres 15", "we use\n  Postgres\t15, yes", True),
        ("Postgres 15", "Postgres 15.4", False),
        ("Postgres 15", "Postgres 150", False),
        ("we do", "we don't", False),
        ("vim", "vim/emacs", False),
        ("mail is <EMAIL_1", "my mail is <EMAIL_1>", False),
        ("5 people", "-5 people", False),
        ("好き", "お茶が好きです", True),
        ("", "anything", False),
        ("a b", "ab", False),
    ],
)
def test_a_part_begins_and_ends_between_tokens(text: str, whole: str, expected: bool) -> None:
    assert own_words.is_part(text, whole) is expected


@pytest.mark.parametrize(
    ("text", "whole", "expected"),
    [
        ("use Redis", "we don't use Redis", True),
        ("we use Redis", "it's not true that we use Redis", True),
        ("we use Redis", "no, we use Redis", False),
        ("I use Helix", "I don't use vim and I use Helix", False),
        ("we use Redis", "we use Redis no longer", True),
        ("we have a demo", "don't forget we have a demo", False),
        ("we use Redis", "we don't use Redis here. But there we use Redis", False),
        ("absent", "we don't use Redis", False),
        ("we use Kafka", "- never push to main\n- we use Kafka", False),
    ],
)
def test_a_negation_before_it_reaches_to_the_end_of_its_clause(text: str, whole: str, expected: bool) -> None:
    assert own_words.is_denied(text, whole) is expected


@pytest.mark.parametrize(("words", "expected"), [("postgres 15", "Postgres 15"), ("Postgres in", ""), ("", ""), ("16", "")])
def test_a_run_is_given_as_it_stands(words: str, expected: str) -> None:
    assert own_words.run(words, "we use Postgres 15 in production") == expected


@pytest.mark.parametrize(
    "text", ["I don't use vim", "we no longer use Redis", "I gave up sugar", "ich benutze kein Windows", "я не люблю чай", "我不喝茶"]
)
def test_denials_and_endings_are_negative(text: str) -> None:
    assert own_words.is_negative(text)


def test_a_statement_is_not_negative() -> None:
    assert not own_words.is_negative("our budget dropped to 20k, now that it is known")
