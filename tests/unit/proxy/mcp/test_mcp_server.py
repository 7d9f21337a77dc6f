"""What a server is made of."""

import dataclasses

import pytest

from services.core import config
from services.proxy.mcp import server
from services.proxy.parts import Parts


def test_nothing_is_traced(parts: Parts) -> None:
    assert server.served(parts, "1").middleware == []


@pytest.mark.parametrize(("tools", "count"), [("few", 5), ("all", 27)])
def test_the_settings_say_which_tools_are_offered(parts: Parts, tools: str, count: int) -> None:
    settings = config.Settings(data_dir=parts.settings.data_dir, mcp_tools=tools)
    names = [tool.name for tool in server.offered(dataclasses.replace(parts, settings=settings))]

    assert len(names) == len(set(names)) == count


def test_the_instructions_are_shorter_than_clients_cut_them() -> None:
    assert len(server.INSTRUCTIONS) < 2_000
