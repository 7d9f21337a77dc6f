"""What agents are offered by the Model Context Protocol, at `/mcp`: tools and resources over the same functions as the HTTP API.

`server` speaks the protocol (the official SDK, streamable HTTP, stateless) and finds out who calls. `tools` says what a tool is, `schemas` how its
arguments and results are described. `few` has the five tools that are offered always, `brain` those of brain-kit (`BRB_MCP_TOOLS=all`), `resources`
what can be read by address. `shown` makes what a model reads out of memories and notes: dated and signed, neutralised, within a budget.
"""
