"""What clients of either API send under the role "user" besides the person's words, and the calls that they make on their own behalf.

Beside Claude Code (`words`): Codex, Open WebUI, LibreChat, aider, Cline and its kin, Continue, opencode, Zed, VS Code. Their own pieces stand at
the beginning or the end of a text; what a person mentions in the middle stays.
"""

import re
from collections.abc import Iterable, Sequence

from services.proxy.wire import words

_TAGS = (
    "environment_context",
    "user_instructions",
    "goal_context",
    "recommended_plugins",
    "skill",
    "subagent_notification",
    "turn_aborted",
    "user_shell_command",
    "next_prompt_suggestion",
    "environment_details",
    "attached_files",
)
# How pieces of a client begin and end.
_FRAGMENTS = (
    *((f"<{tag}>", f"</{tag}>") for tag in _TAGS),
    ("<codex_internal_context ", "</codex_internal_context>"),
    ("<hook_prompt ", "</hook_prompt>"),
    ("# AGENTS.md instructions for ", "</INSTRUCTIONS>"),
)
_OPENINGS = tuple(opening for opening, _ in _FRAGMENTS)
_CLOSINGS = tuple(closing for _, closing in _FRAGMENTS)
_GAP = re.compile(r"\s*")
_WRAPPED = re.compile(r"<(task|feedback|user_message|answer|user_query)>\s*+(.*)</\1>", re.DOTALL)
_EDITOR = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_BEHIND_EDITOR = re.compile(r"^## My request for \w+:", re.MULTILINE)
_DOCUMENTS = "### Task:\nRespond to the user query using the provided context"
_BEHIND_DOCUMENTS = "</context>"
# Of aider, behind the words of the newest message: how changes are to be written.
_EDIT_RULES = re.compile(
    r"\n\n\n?(?:# \*SEARCH/REPLACE block\* Rules:\n|# V4A Diff Format Rules:\n|# File editing rules:\n\nReturn edits similar to unified diffs"
    r"|To suggest changes to a file you MUST return the entire content of the updated file\.\n|NEVER RETURN CODE!\n|ONLY return code using the `)"
)
_NOT_THE_PERSON = re.compile(
    r"Another language model started to solve this problem and produced a summary"
    r"|I have \*added these files to the chat\*"
    r"|I am not sharing (?:any|the full contents of any) files"
    r"|Here are some READ ONLY files, provided for your reference"
    r"|(?:I am working with you on code in a git repository\.\n)?Here are summaries of (?:some )?files present in my git repo"
    r"|I switched to a new code base\. Please don't consider the above files"
    r"|\[ERROR\] You did not use a tool"
    r"|\[TASK RESUMPTION\]"
)
_TOOL_RESULT = re.compile(
    r"\s*\[[\w-]+(?: for '[^\n]*')?\] Result:"
)  # of tools that are called in text: what they say stands behind, in the same or other blocks
_INSTRUCTIONS = re.compile(
    r"[\s-]*(?:You are a title generator"
    r"|You are an expert in crafting pithy titles"
    r"|(?i:you will generate a short title based on the first message)"
    r"|You are an expert software engineer that generates concise,"
    r"|\*Briefly\* summarize this partial conversation"
    r"|Generate a concise, sentence-case title"
    r"|You are a security monitor"
    r"|Analyze if this message indicates a new conversation topic"
    r"|Summarize this coding conversation in under)"
)
_ORDERS = re.compile(
    r"\s*(?:### Task:\n(?:Generate (?:a concise|1-3 broad tags|a detailed prompt)|Suggest 3-5 relevant follow-up"
    r"|Analyze the chat history to determine|You are an autocompletion system)"
    r"|Create a concise, 3-5 word title"
    r"|Your task is to reflect the speaker's likely facial expression"
    r"|You have been provided with a set of responses from various models to the latest user query"
    r"|Provide a concise, 5-word-or-less title for the conversation"
    r"|Analyze this conversation and provide:\n1\. The detected language"
    r"|Given the following[^\n]{0,40} please reply with a title for the chat"
    r"|Generate a concise 3-7 word title for this conversation"
    r"|Generate a title for this conversation:"
    r"|Please write a 5-10 word title"
    r"|You are performing a CONTEXT CHECKPOINT COMPACTION)"
)


def by_block(texts: Sequence[str]) -> list[str]:
    """What of each text of one message is the person's; "" if nothing of it is."""
    behind_result = False
    own = []
    for text in texts:
        behind_result = behind_result or _TOOL_RESULT.match(text) is not None
        own.append("" if behind_result and not _WRAPPED.fullmatch(text.strip()) else _own(text))
    return words.by_block(own)


def is_side(instructions: Iterable[str], asked: Iterable[str]) -> bool:
    """Whether a client asks on its own behalf: a title, tags, a summary. instructions: what it tells the model. asked: the newest message's texts."""
    return any(map(_INSTRUCTIONS.match, instructions)) or any(_ORDERS.match(text) or words.instructs(text) for text in asked)


def contexts(texts: Iterable[str]) -> list[str]:
    """Those texts of a message in which the client says where it is at work."""
    return [text for text in texts if text.lstrip().startswith("<environment_context>")]


def _own(text: str) -> str:
    text = _introduced(_without_fragments(_EDIT_RULES.split(text, maxsplit=1)[0]))
    if wrapped := _WRAPPED.fullmatch(text):
        text = wrapped[2]
    return "" if _NOT_THE_PERSON.match(text) else text


def _introduced(text: str) -> str:
    """What stands behind all that the client knows of the editor, or has found in documents."""
    if text.startswith(_EDITOR) and (behind := _BEHIND_EDITOR.search(text)):
        return text[behind.end() :].strip()
    if text.startswith(_DOCUMENTS):
        return text.rpartition(_BEHIND_DOCUMENTS)[2].strip()
    return text


def _without_fragments(text: str) -> str:
    """Linear: fragments are skipped, the text is cut once."""
    start = _after_gap(text, 0)
    while text.startswith(_OPENINGS, start):
        closing = next(closing for opening, closing in _FRAGMENTS if text.startswith(opening, start))
        end = text.find(closing, start)
        if end < 0:
            break
        start = _after_gap(text, end + len(closing))
    rest = text[start:].rstrip()
    end = len(rest)
    while rest.endswith(_CLOSINGS, 0, end):
        begin = max(rest.rfind(opening, 0, end) for opening, closing in _FRAGMENTS if rest.endswith(closing, 0, end))
        if begin < 0:
            break
        end = begin
        while end and rest[end - 1].isspace():
            end -= 1
    return rest[:end]


def _after_gap(text: str, position: int) -> int:
    return _GAP.match(text, position).end()  # type: ignore[union-attr]  # matches the empty string
