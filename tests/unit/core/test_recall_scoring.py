import pytest

from services.core.recall import scoring
from tests.support import in_memory

DAY = 86_400.0


def _score(similarity: float, *, mentions: int = 1, reinforced_days: float = 0, accessed_days: float = 0, confidence: float = 0.9) -> float:
    memory = in_memory.memory(
        "My name is Leo",
        mentions=mentions,
        confidence=confidence,
        reinforced_at=in_memory.NOW - reinforced_days * DAY,
        accessed_at=in_memory.NOW - accessed_days * DAY,
    )
    return scoring.Standing.of(memory, in_memory.NOW).score(similarity, min_similarity=0.30)


@pytest.mark.parametrize(
    ("similarity", "made_of", "expected"),
    [
        (0.8, {"mentions": 15}, 0.8 * 1.0 + 0.045),
        (0.8, {"mentions": 40}, 0.8 * 1.0 + 0.045),
        (0.5, {"mentions": 1}, 0.5 * (0.68 + 0.32 * (0.65 / 15 + 0.35)) + 0.045),
        (0.5, {"mentions": 15, "accessed_days": 140}, 0.5 * (0.68 + 0.32 * (0.65 + 0.175)) + 0.045),
        (0.5, {"mentions": 15, "reinforced_days": 100}, 0.5 * (0.68 + 0.32 * (0.65 * 0.40656966 + 0.35)) + 0.045),
        (0.5, {"confidence": 0.0, "mentions": 15}, 0.5),
        (0.30, {"mentions": 15}, 0.345),
        (0.29, {"mentions": 15}, 0.0),
    ],
)
def test_the_composite_score_is_that_of_the_published_formula(similarity: float, made_of: dict[str, float], expected: float) -> None:
    assert _score(similarity, **made_of) == pytest.approx(expected)  # type: ignore[arg-type]


def test_a_fresh_memory_of_one_mention_needs_a_little_more_than_the_gate() -> None:
    assert _score(0.30) < 0.3 < _score(0.32)


def test_a_clock_that_went_back_makes_no_memory_stronger_than_a_fresh_one() -> None:
    assert _score(0.5, reinforced_days=-400, accessed_days=-400) == _score(0.5)
