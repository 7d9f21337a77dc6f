import pytest

from services.proxy.wire import projects


@pytest.mark.parametrize(
    ("texts", "stated"),
    [
        (["# Env\nPrimary working directory: /home/leo/shop\nPlatform: linux"], "/home/leo/shop"),
        (["# Env\n - Primary working directory: /home/leo/a b/\n - x: y"], "/home/leo/a b"),
        (["Current Working Directory: C:\\shop"], "C:\\shop"),
        (["Current Workspace Directory: `/home/leo/shop`"], "/home/leo/shop"),
        (["You help. The current working directory: /home/leo/shop. It is a git repo."], "/home/leo/shop"),
        (["Working directory: /"], "/"),
        (["Working directory: /old", "x", "Working directory: /new"], "/new"),
        (["<environment_context>\n  <cwd>/home/leo/R&amp;D</cwd>\n</environment_context>"], "/home/leo/R&D"),
        (["<environments><environment><cwd>/first</cwd></environment><environment><cwd>/second</cwd></environment></environments>"], "/first"),
        (["The networking directory: /etc"], ""),
        (["Additional working directories: /etc"], ""),
        (["Working directory: "], ""),
        (["<cwd></cwd>"], ""),
        (["x" * 200 + " working directory: /far/in/a/line"], "/far/in/a/line"),
        ([], ""),
    ],
)
def test_the_working_directory_is_the_last_one_stated(texts: list[str], stated: str) -> None:
    assert projects.stated(texts) == stated
