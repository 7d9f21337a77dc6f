"""Whether two texts say the same, and what is wrong with a fact by itself."""

import pytest

from services.embedded.bench import judged


@pytest.mark.parametrize(
    ("fact", "label"),
    [
        ("I've decided to switch from cosine to Jaccard for the topic pipeline", "Switching the topic pipeline from cosine similarity to Jaccard."),
        ("My dog is called Rex", "I have a dog called Rex."),
        ("We use Postgres 15", "we use Postgres 15 for billing"),
        ("I am a nurse", "I'm a nurse."),
    ],
)
def test_a_paraphrase_says_the_same(fact: str, label: str) -> None:
    assert judged.same(fact, label)


@pytest.mark.parametrize(
    ("fact", "label"),
    [
        ("Currently at 85%, target is 97%", "Will raise the accuracy of the scanner on old invoices from 85% to 97% by the end of the month."),
        ("We use Postgres", "We use MySQL"),
        ("I like tea", "The release deadline is May 15, after the freeze of the tea shop's new site and its four languages"),
        ("", "I like tea"),
    ],
)
def test_some_words_in_common_are_not_the_same(fact: str, label: str) -> None:
    assert not judged.same(fact, label)


@pytest.mark.parametrize(("words", "said"), [("Hi! I have two dogs and a cat.", True), ("Do you have two dogs?", False), ("I like dogs.", False)])
def test_a_label_is_said_by_one_sentence_that_is_no_question(words: str, said: bool) -> None:
    assert judged.said("I have two dogs.", words) is said


@pytest.mark.parametrize(
    ("text", "words", "kind"),
    [
        ("I like to dance", "I like to dance and sing.", "cut short"),
        ("I like to dance", "I like to dance and I sing.", ""),
        ("I like those too", "I like those too.", "hangs on what is said elsewhere"),
        ("I like your dog", "I like your dog.", "about the other"),
        ("I'm tired today", "I'm tired today.", "passing"),
        ("I might move to Bonn", "I might move to Bonn.", "unsure"),
        ("I'm glad to meet people", "I'm glad to meet people.", "small talk"),
        ("we use Redis", "So we use Redis?", "asked"),
        ("My cat is called Momo", "My cat is called Momo.", ""),
    ],
)
def test_typical_mistakes_show_in_the_fact_itself(text: str, words: str, kind: str) -> None:
    assert judged.fault(text, text, words) == kind


@pytest.mark.parametrize(
    ("label", "shape"),
    [
        ("I'm a nurse.", "i am ..."),
        ("I knit.", "i ..."),
        ("My dog barks.", "my ..."),
        ("Will send it.", "will ..."),
        ("Uses Go.", "other"),
        ("", "other"),
    ],
)
def test_missed_labels_are_told_apart_by_their_beginning(label: str, shape: str) -> None:
    assert judged.shape(label) == shape
