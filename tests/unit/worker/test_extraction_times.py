"""Times as they are said, against what they mean."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.worker.extraction import times

_SAID = datetime(2026, 5, 20, 15, 30, tzinfo=UTC).timestamp()  # a Wednesday


def _at(day: str) -> float | None:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() if day else None


@pytest.mark.parametrize(
    ("text", "when", "valid_from", "valid_to"),
    [
        ("We are on a feature freeze until Friday", "until Friday", "", "2026-05-23"),
        ("I'm on parental leave till Wednesday", "till Wednesday", "", "2026-05-28"),
        ("I'm away until next Friday", "until next Friday", "", "2026-05-30"),
        ("I'm in Lisbon through June", "through June", "", "2026-07-01"),
        ("we support Python 3.9 until 2027", "until 2027", "", "2028-01-01"),
        ("the freeze holds until May 31st", "until May 31st", "", "2026-06-01"),
        ("the freeze holds until the 3rd", "until the 3rd", "", "2026-06-04"),
        ("the old API stays up until 2026-09-30", "until 2026-09-30", "", "2026-10-01"),
        ("we rent the office until the end of Q3", "until the end of Q3", "", "2026-10-01"),
        ("I work remotely until the end of the year", "until the end of the year", "", "2027-01-01"),
        ("I'm on call for the next two weeks", "for the next two weeks", "2026-05-20", "2026-06-04"),
        ("I'm in Tokyo for the next 3 months", "for the next 3 months", "2026-05-20", "2026-08-21"),
        ("we do code freeze for the rest of the month", "for the rest of the month", "2026-05-20", "2026-06-01"),
        ("I have worked at Acme since 2021", "since 2021", "2021-01-01", ""),
        ("Since March we deploy with Argo", "Since March", "2026-03-01", ""),
        ("we've been on Postgres 16 since last week", "since last week", "2026-05-11", ""),
        ("I have lived here since October", "since October", "2025-10-01", ""),
        ("I'm vegan since Wednesday", "since Wednesday", "2026-05-13", ""),
        ("From July on we use pnpm", "From July on", "2026-07-01", ""),
        ("starting Monday I work four days a week", "starting Monday", "2026-05-25", ""),
        ("as of June 1, 2026 the budget is 5k", "as of June 1, 2026", "2026-06-01", ""),
        ("from now on answer in German", "from now on", "2026-05-20", ""),
        ("I'm in Paris from June 3 to June 14", "from June 3 to June 14", "2026-06-03", "2026-06-15"),
        ("we freeze between December 20 and January 3", "between December 20 and January 3", "2026-12-20", "2027-01-04"),
        ("Maria leads the team from 1 June until the end of 2026", "from 1 June until the end of 2026", "2026-06-01", "2027-01-01"),
    ],
)
def test_validity_is_read_where_it_is_certain(text: str, when: str, valid_from: str, valid_to: str) -> None:
    assert times.stated(text, _SAID) == times.Stated(when, _at(valid_from), _at(valid_to))


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("the report is due by May 15", "by May 15"),
        ("Release deadline is May 15", "May 15"),
        ("the launch is on June 3rd", "on June 3rd"),
        ("I promised the draft by Friday morning", "by Friday"),
        ("we shipped v2 last week", "last week"),
        ("I moved to Berlin two years ago", "two years ago"),
        ("I lived in Bonn until 2019", "until 2019"),
        ("I worked at Acme from 2015 to 2019", "from 2015 to 2019"),
        ("the freeze was until May 15", "until May 15"),
        ("we use Jenkins for now", "for now"),
        ("I work from Monday to Friday", "from Monday to Friday"),
        ("I'm off for the next few days", ""),
        ("as of November we use Kafka", "as of November"),  # said in May: the one before or the one to come
        ("we migrate in the next two weeks", "in the next two weeks"),
        ("the plan holds until May 42", "until May 42"),
        ("the contract holds until 9999-12-31", "until 9999-12-31"),  # the last day that there is
    ],
)
def test_a_point_in_time_or_an_uncertain_one_is_kept_as_words_alone(text: str, when: str) -> None:
    assert times.stated(text, _SAID) == times.Stated(when)


@pytest.mark.parametrize(
    "text",
    [
        "I may use Redis",
        "we deploy every Friday",
        "we deploy every other Friday",
        "no deploys on Fridays",
        "we use SQL Server 2019",
        "uploads up to 2000 files",
        "we allow from 2000 to 3000 requests",
        "since we moved to Postgres the tests are slow",
        "the marching band plays jazz",
        "the second line",
        "I work until 5pm",
        "Python 3.12 and Node 20",
        "I prefer 2 spaces",
        "",
    ],
)
def test_what_is_no_time_is_not_taken_for_one(text: str) -> None:
    assert times.stated(text, _SAID) == times.Stated("")


_PERIODS = st.sampled_from(["Friday", "May", "May 15", "February 29", "Q2", "2030", "the 31st", "next week", "last month", "2031-02-29", "1999"])


@given(st.floats(min_value=0, max_value=4e9), st.sampled_from(["until {}", "since {}", "from {} on", "as of {}", "from {} to {}"]), st.data())
def test_validity_never_ends_before_it_begins_or_before_it_is_said(said_at: float, form: str, data: st.DataObject) -> None:
    stated = times.stated(form.format(data.draw(_PERIODS), data.draw(_PERIODS)), said_at)
    assert stated.valid_to is None or stated.valid_to > said_at
    assert stated.valid_to is None or stated.valid_from is None or stated.valid_from < stated.valid_to
