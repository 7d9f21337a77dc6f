import pytest

from services.proxy.web import signing


@pytest.mark.parametrize(
    ("referer", "page"),
    [
        ("", "/ui"),
        ("http://brb.example/ui", "/ui"),
        ("http://brb.example/ui?q=words", "/ui"),
        ("http://brb.example/ui/review?page=2", "/ui/review"),
        ("http://brb.example/ui/review/17-0/undo", "/ui/review"),
        ("http://brb.example/ui/memories/1b/forget", "/ui/memories/1b"),
        ("http://brb.example/ui/turns/1b", "/ui/turns/1b"),
        ("http://evil.example/other", "/ui"),
        ("http://evil.example//evil.example/ui", "/ui"),
        ("http://brb.example/uix/y", "/ui"),
        ("//", "/ui"),
        ("http://[x", "/ui"),
    ],
)
def test_after_the_colours_one_is_where_one_was(referer: str, page: str) -> None:
    assert signing.came_from(referer) == page
