"""A Qdrant that answers what is no answer of its own is away: what waits for it is not to blame."""

import json

import pytest

from services.core import errors
from services.core.adapters import server_collections


@pytest.mark.parametrize("answer", [b'{"result": \xff', b"<html>Bad gateway</html>"])
def test_an_answer_that_is_none_means_that_it_is_away(answer: bytes) -> None:
    with pytest.raises(errors.Unavailable, match="Qdrant"), server_collections.translated():
        json.loads(answer)
