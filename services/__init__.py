"""BRB, a team-shared memory proxy for LLM clients: be right back, with context.

A *turn* is one message of a person and all the calls it leads to.

    client ──► proxy ──► upstream API            relays bytes; on a new human turn it *recalls* ranked memories and *injects* one block,
                 │                               and *replays* that block, from the *ledger*, in every later call of the conversation
                 ▼ learn_turn (the answer is complete)
              worker: redact ► extract ► ground  yields *facts*, each with the person's own words as *evidence*
                 │ store_facts
                 ▼
              indexer: embed ► decide ► write    *reinforce*, *supersede* or *insert*: facts become *memories*

core is what all share (values, messages, errors, ports, settings, recall) and knows none of them. Services meet only through
`core.messages`. embedded hosts proxy and indexer in one process and supervises the rest. cli is the `brb` command.
"""
