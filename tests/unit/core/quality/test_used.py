"""Whether an answer used a memory, as a table; how often it is right is measured on a labelled set (tests/bench)."""

import pytest

from services.core.quality import used
from services.core.telemetry import Used

HAZELNUTS = "I'm allergic to hazelnuts"


@pytest.mark.parametrize(
    ("memory", "before", "answer", "expected"),
    [
        (HAZELNUTS, ["Suggest a cake"], "A carrot cake, without hazelnuts.", Used.YES),
        (HAZELNUTS, ["Suggest a cake"], "A carrot cake.", Used.NO),
        (HAZELNUTS, ["I'm allergic to hazelnuts. Suggest a cake"], "A carrot cake, without hazelnuts.", Used.UNKNOWN),
        (HAZELNUTS, ["I am allergic to hazelnuts", "Suggest a cake"], "A cake without hazelnuts.", Used.UNKNOWN),
        ("Staging listens on port 5433", ["Connect to staging"], "psql -p 5433", Used.YES),
        ("Staging listens on port 5433", ["Connect to staging"], "psql -p 5432", Used.NO),
        ("We never use npm, only pnpm", ["Add lodash"], "npm install lodash", Used.NO),
        ("We never use npm, only pnpm", ["Add lodash"], "pnpm add lodash", Used.YES),
        ("We don't use Docker", ["Run it"], "docker run app", Used.NO),
        ("We don't use Docker", ["Run it"], "Run it directly, without Docker.", Used.YES),
        ("Prices are in amount_cents", ["Add a price"], "ADD COLUMN amountCents int", Used.YES),
        ("我对花生过敏", ["推荐甜点"], "你对花生过敏，所以选不含花生的布丁", Used.YES),
        ("我对花生过敏", ["推荐甜点"], "巧克力蛋糕", Used.NO),
        (HAZELNUTS, ["Suggest a cake"], "", Used.UNKNOWN),
        (HAZELNUTS, ["hazelnuts " + "word " * 10_000], "Without hazelnuts.", Used.YES),
        ("", ["Suggest a cake"], "A cake", Used.UNKNOWN),
        (HAZELNUTS, [], "word " * 10_000 + "hazelnuts", Used.NO),
    ],
)
def test_what_the_memory_alone_says_must_be_in_the_answer(memory: str, before: list[str], answer: str, expected: Used) -> None:
    assert used.verdicts([memory], before, answer) == [expected]
