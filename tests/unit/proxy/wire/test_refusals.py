"""What BRB says in a vendor's place."""

import json
from http import HTTPStatus

import pytest

from services.proxy.wire import refusals, routes


@pytest.mark.parametrize("vendor", routes.Vendor)
def test_a_message_stands_where_the_vendors_sdk_looks_for_it(vendor: routes.Vendor) -> None:
    said = json.loads(refusals.body(vendor, 'no "way"'))
    assert (said["error"]["message"], said["error"]["type"]) == ('no "way"', "api_error")
    assert said.get("type") == ("error" if vendor is routes.Vendor.ANTHROPIC else None)


@pytest.mark.parametrize(("status", "kind"), [(HTTPStatus.BAD_REQUEST, "invalid_request_error"), (HTTPStatus.INTERNAL_SERVER_ERROR, "api_error")])
def test_the_last_answer_is_whole_and_closes_the_connection(status: HTTPStatus, kind: str) -> None:
    head, _, body = refusals.last_answer(status, "why").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"Connection: close" in head
    assert b"Content-Length: %d\r\n" % len(body) in head
    assert json.loads(body)["error"] == {"type": kind, "message": "why"}
