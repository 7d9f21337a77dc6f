"""What an answer said, whichever API gave it, read from a copy of its bytes after it has been relayed."""

from collections.abc import Sequence

from services.proxy.wire import openai_answers, routes, sse
from services.proxy.wire.calls import NO_ANSWER, Answer


def read(route: routes.Route, content_type: str, content_encoding: str, chunks: Sequence[bytes], *, whole: bool = True) -> Answer:
    """The answer in the body of a 200 to a route that holds a conversation, streamed or not. One that can't be decoded says nothing.

    whole: the body came to its end.
    """
    body = sse.decoded(b"".join(chunks), content_encoding)
    if body is None:
        return NO_ANSWER
    return sse.answer(content_type, body) if route is routes.Route.MESSAGES else openai_answers.answer(route, content_type, body, whole=whole)
