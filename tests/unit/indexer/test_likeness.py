import pytest

from services.indexer import likeness


def alike(one: str, other: str, cosine: float = 0.9) -> bool:
    return likeness.alike(likeness.statement(one), likeness.statement(other), cosine, 0.82)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We use Postgres.", "we use  postgres"),
        ("I don’t eat meat", "I don't eat meat!"),
        ("We deploy every Friday", "Deploys happen on Fridays"),
        ("The API runs on v1.2.3", "Version 1.2.3 is what the API runs on"),
        ("The budget is 1,000 euros", "The budget is 1000 euros"),
        ("The team has three developers", "There are 3 developers in the team"),
        ("The launch is on October 15", "The launch is on Oct 15th"),
        ("I can't stand loud offices", "I hate loud offices"),
        ("My mom lives in Porto", "My mother lives in Porto"),
    ],
)
def test_paraphrases_are_alike(one: str, other: str) -> None:
    assert alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The deadline is October 15", "The deadline is October 16"),
        ("The deadline is October 15", "The deadline is November 15"),
        ("The standup is on Monday", "The standup is on Tuesday"),
        ("PR #260 is merged", "PR #480 is merged"),
        ("We run Postgres 15", "We run Postgres 16"),
        ("We migrated from 15 to 16", "We migrated from 16 to 15"),
        ("The API runs on v1.2.3", "The API runs on v1.2.4"),
        ("We use Redis", "We do not use Redis"),
        ("We use Redis", "We no longer use Redis"),
        ("I love Chinese food", "I hate Chinese food"),
        ("The staging database is MySQL", "The production database is MySQL"),
        ("My daughter likes chess", "My son likes chess"),
        ("I work with Ana on search", "I work with Ivo on search"),
        ("We plan to migrate to Kafka", "We migrated to Kafka"),
        ("I used to smoke", "I smoke"),
        ("I indent with tabs", "I indent with spaces"),
        ("The team has three developers", "The team has four developers"),
        ("The port is open on the router", "The port is closed on the router"),
    ],
)
def test_what_tells_statements_apart_outweighs_the_cosine(one: str, other: str) -> None:
    assert not alike(one, other, cosine=0.99)


@pytest.mark.parametrize(
    ("fact", "memory"),
    [
        ("I drink coffee at breakfast", "I take coffee for breakfast"),
        ("The happy team meets in Porto", "The sad team meets in Porto"),
        ("The auth service calls the billing service", "The billing service calls the auth service"),
        ("The auth service is called by the billing service", "The auth service calls the billing service"),
        ("We deploy the billing service on Fridays", "We deploy on Fridays"),
        ("Somebody reviews my code", "My code reviews somebody"),
        ("The worker quickly drains the queue", "The worker slowly drains the queue"),
        ("The pipe leads into the lake", "The pipe leads out of the lake"),
        ("A girl sings", "A child sings"),
    ],
)
def test_an_exchanged_word_another_order_or_one_word_more_is_another_statement_however_near(fact: str, memory: str) -> None:
    assert not alike(fact, memory, cosine=0.99)


@pytest.mark.parametrize(
    ("fact", "memory"),
    [
        ("The kids play in the garden", "The children are playing in the garden"),
        ("The billing service is called by the auth service", "The auth service calls the billing service"),
        ("The logs are read in the morning by Ana", "Ana reads the logs in the morning"),
        ("Our logo, which is green, is old", "Our green logo is old"),
        ("The owner of the repository approves releases", "The repository owner approves releases"),
        ("I am coding and reviewing", "I am reviewing and coding"),
        ("Postgres is what we use", "We use Postgres"),
        ("A child sings", "A girl sings"),
        ("The worker drains the queue", "The worker slowly drains the queue"),
        ("I love long walks", "I enjoy long walks"),
    ],
)
def test_what_says_the_same_in_another_form_or_less_than_is_known_is_alike(fact: str, memory: str) -> None:
    assert alike(fact, memory, cosine=0.9)


@pytest.mark.parametrize(("cosine", "expected"), [(0.82, False), (0.85, False), (0.86, True)])
def test_less_than_is_known_needs_a_higher_cosine(cosine: float, expected: bool) -> None:
    assert alike("The green lamp flickers", "The small green lamp flickers", cosine) is expected


@pytest.mark.parametrize(("cosine", "expected"), [(0.81, False), (0.82, True)])
def test_the_threshold_is_inclusive(cosine: float, expected: bool) -> None:
    assert alike("I drink coffee", "I always drink my coffee", cosine) is expected


def test_equal_texts_are_alike_whatever_the_cosine() -> None:
    assert alike("We use Postgres", "we use postgres.", cosine=0.0)


@pytest.mark.parametrize(
    ("text", "frame"),
    [("October 15", "# #"), ("due on Friday at 10:30", "due on # at #"), ("16 GB", "# gb"), ("two GB", "# gb"), ("v1.2.3", "#")],
)
def test_a_frame_has_no_numbers_and_dates(text: str, frame: str) -> None:
    assert likeness.frame(text) == frame


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("We ship on October 15", "We ship on October 16", True),
        ("We ship v2 on October 15", "We ship v2 on November 3", True),
        ("We ship v2 on October 15", "We ship v3 on October 15", False),
        ("We ship v2 on October 15", "We ship v3 on October 16", False),
        ("Python 3.10", "Python 3.12", True),
        ("two kids", "three kids now", True),
        ("PR #260", "PR #480", False),
        ("on Fridays", "on Mondays", False),
        ("Python", "Python 3.12", False),
        ("Python", "Python", False),
    ],
)
def test_another_number_at_the_end_is_another_value_and_any_other_another_thing(one: str, other: str, expected: bool) -> None:
    assert likeness.renumbered(one, other) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("Call Ana by May 3", True), ("The limit is 80 %", True), ("Read chapter 3", False), ("3 of them", False)]
)
def test_a_quantity_says_when_or_how_much_after_a_preposition_or_verb(text: str, expected: bool) -> None:
    assert likeness.adverbial(text) is expected


@pytest.mark.parametrize(
    ("one", "other", "loosely", "expected"),
    [
        ("on port 8001", "port 9001", False, True),
        ("on port 8001", "9001", True, True),
        ("on port 8001", "9001", False, False),
        ("8001", "Go", True, False),
    ],
)
def test_a_quantity_of_the_same_name_is_measured_anew(one: str, other: str, loosely: bool, expected: bool) -> None:
    assert likeness.remeasured(one, other, loosely=loosely) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We use MySQL now", True),
        ("We use MySQL instead", True),
        ("I don't smoke anymore", True),
        ("My new manager is Ana", True),
        ("We moved the shop to GCP", True),
        ("Production switched to CockroachDB", True),
        ("We replaced Travis", True),
        ("Until now we use MySQL", False),
        ("We use New Relic", False),
        ("We know MySQL", False),
        ("I like to move", False),
    ],
)
def test_words_of_change_are_recognised(text: str, expected: bool) -> None:
    assert likeness.changing(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("We released on May 3", True), ("I met Ana on May 3", True), ("The call is scheduled for May 3", False)]
)
def test_what_happened_is_told_from_what_holds(text: str, expected: bool) -> None:
    assert likeness.event(text) is expected


@pytest.mark.parametrize(
    ("one", "other"),
    [("PostgreSQL", "postgres"), ("MongoDB", "Mongo"), ("Node.js", "nodejs"), ("VS Code", "vscode"), ("golang", "Go"), ("React.js", "React")],
)
def test_a_product_has_one_name(one: str, other: str) -> None:
    assert likeness.words(one) == likeness.words(other)


@pytest.mark.parametrize(("text", "measured"), [("on October 15", "date"), ("Fridays", "date"), ("8 GB", "number"), ("port 8001", ""), ("Go", "")])
def test_a_value_is_a_date_a_number_or_neither(text: str, measured: str) -> None:
    assert likeness.measured(text) == measured


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("prod and staging differ", {"production", "staging"}),
        ("we live in Berlin and work at Acme", set()),
        ("tests run locally", {"test", "local"}),
    ],
)
def test_environments_are_read_out_of_the_words(text: str, places: set[str]) -> None:
    assert likeness.environments(text) == places


@pytest.mark.parametrize("text", ["", "???", "日本語", "🙂", "\ud800"])
def test_any_text_can_be_taken_apart(text: str) -> None:
    assert likeness.statement(text).normal == likeness.normalised(text)
