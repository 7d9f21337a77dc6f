"""What the whole recall shows and where it stays silent, with real embeddings: forty memories, thirty questions for one of them, sixty messages
that none of them is about."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.core import models, ports
from services.core.adapters.in_memory_store import InMemoryStore
from services.core.adapters.llama_cpp import LlamaCppEmbedder
from services.core.recall import engine
from tests.support import in_memory

MEMORIES = (
    "My name is Leo",
    "I live in Lisbon and work from home",
    "I prefer dark mode in every editor",
    "I'm allergic to peanuts",
    "My daughter is called Marta",
    "I use Neovim on Arch Linux",
    "I prefer tabs over spaces in Go code",
    "Please keep answers short, I don't like long explanations",
    "My timezone is UTC+1",
    "I'm a backend engineer on the payments team",
    "We use Postgres 15 as our main database",
    "The staging database is MySQL 8",
    "The API is written in FastAPI and deployed on Kubernetes",
    "Our frontend is React with TypeScript",
    "We decided to sign tokens with RS256 instead of HS256",
    "fix_auth_v2 is the branch with the new login flow",
    "JIRA-123 tracks the memory leak in the exporter",
    "The release deadline is October 15",
    "Deployments are frozen on Fridays",
    "We must never log customer e-mail addresses",
    "Public endpoints must answer within 200 ms",
    "All commits must be signed",
    "Our CI runs on GitHub Actions",
    "The team standup is at 9:30 every day",
    "Anna owns the billing service",
    "We chose Kafka over RabbitMQ for events",
    "The monorepo uses pnpm workspaces",
    "Unit tests are written with pytest, never unittest",
    "I need to rotate the TLS certificates before December",
    "I have to write the postmortem of the outage",
    "Our error budget for this quarter is used up",
    "The mobile app supports iOS 16 and later",
    "We store files in an S3 bucket in Frankfurt",
    "Secrets live in HashiCorp Vault",
    "Code review needs two approvals",
    "The project is called Falcon",
    "I drink my coffee without sugar",
    "My manager is Priya",
    "I speak Portuguese and Danish",
    "We use Terraform to manage the infrastructure",
)
ASKED = (
    ("What is my name?", "My name is Leo"),
    ("who am I?", "My name is Leo"),
    ("which theme should I use for the editor?", "I prefer dark mode in every editor"),
    ("Suggest a snack for my flight, anything with nuts?", "I'm allergic to peanuts"),
    ("what's my kid called", "My daughter is called Marta"),
    ("what database do we use?", "We use Postgres 15 as our main database"),
    ("Which database runs on staging?", "The staging database is MySQL 8"),
    ("How are our tokens signed?", "We decided to sign tokens with RS256 instead of HS256"),
    ("Is RS256 slower to verify?", "We decided to sign tokens with RS256 instead of HS256"),
    ("rebase fix_auth_v2 onto main please", "fix_auth_v2 is the branch with the new login flow"),
    ("what's the status of JIRA-123", "JIRA-123 tracks the memory leak in the exporter"),
    ("When do we have to ship the release?", "The release deadline is October 15"),
    ("Can I deploy this on Friday?", "Deployments are frozen on Fridays"),
    ("Write a test for the parser module", "Unit tests are written with pytest, never unittest"),
    ("add a log line with the customer's email when the signup fails", "We must never log customer e-mail addresses"),
    ("Set up a CI pipeline for this repo", "Our CI runs on GitHub Actions"),
    ("What time is standup?", "The team standup is at 9:30 every day"),
    ("who should I ask about billing?", "Anna owns the billing service"),
    ("Which message broker do we use for events?", "We chose Kafka over RabbitMQ for events"),
    ("how do I install the dependencies of the monorepo", "The monorepo uses pnpm workspaces"),
    ("what do I still have to do before December?", "I need to rotate the TLS certificates before December"),
    ("Where do we keep secrets?", "Secrets live in HashiCorp Vault"),
    ("how many reviewers does a pull request need?", "Code review needs two approvals"),
    ("What's the name of this project?", "The project is called Falcon"),
    ("who is my manager", "My manager is Priya"),
    ("What languages do I speak?", "I speak Portuguese and Danish"),
    ("create a new S3 bucket for the backups with infrastructure as code", "We use Terraform to manage the infrastructure"),
    ("what is the latency target of public endpoints?", "Public endpoints must answer within 200 ms"),
    ("Which city do I live in?", "I live in Lisbon and work from home"),
    ("What text editor do I use?", "I use Neovim on Arch Linux"),
)
UNRELATED = (
    "hi",
    "thanks, that worked!",
    "ok continue",
    "hello how are you",
    "yes please go ahead",
    "LGTM",
    "What is the capital of Mongolia?",
    "Explain how photosynthesis works",
    "Write a haiku about autumn leaves",
    "Translate 'good night' to Japanese",
    "What is 17 times 23?",
    "Who won the 1998 world cup?",
    "Give me a recipe for lasagna",
    "How do black holes form?",
    "Convert 5 miles to kilometers",
    "Summarise the plot of Hamlet",
    "What causes tides?",
    "Why is the sky blue?",
    "Prove that the square root of two is irrational",
    "Tell me a joke about penguins",
    "sort this list of numbers in ascending order: 5, 3, 9, 1",
    "what does the word serendipity mean",
    "Write a regex that matches hex colours",
    "How do I reverse a linked list in C?",
    "explain big O notation",
    "What is the difference between a stack and a queue?",
    "Implement binary search in Rust",
    "how tall is mount everest",
    "can you rename this variable to something clearer",
    "Why does my cat purr?",
    "fix the name collision between these two classes",
    "who named the planet Pluto?",
    "translate these song lyrics to German",
    "I have homework for my database course: normalise this relation",
    "write a short story about a girl called Alice",
    "center a div with CSS",
    "Explain the CAP theorem",
    "what year did the Berlin wall fall",
    "refactor this function to be shorter",
    "debug this segmentation fault in my C program",
    "why is my for loop off by one",
    "Give me 5 synonyms for happy",
    "write an email to my landlord about the broken heating",
    "what's the weather like in Oslo",
    "make a workout plan for beginners",
    "difference between TCP and UDP",
    "compute the derivative of x^2 sin x",
    "Draft a birthday message for a friend",
    "how does a transistor work?",
    "generate 10 random passwords",
    "what does this error mean: TypeError: 'NoneType' object is not subscriptable",
    "optimise this SQL join over three tables",
    "convert this JSON to YAML",
    "please proofread my essay about Napoleon",
    "what are the planets of the solar system",
    "how many teaspoons are in a tablespoon",
    "Add a docstring to this method",
    "recommend me a good science fiction novel",
    "git rebase vs merge?",
    "how to remove a file from git history",
)


@pytest.fixture(scope="module")
def embedder(llama_socket: Path) -> Iterator[LlamaCppEmbedder]:
    made = LlamaCppEmbedder(llama_socket, model="all-MiniLM-L6-v2", dimension=384)
    yield made
    made.close()


@pytest.fixture(scope="module")
def store(embedder: LlamaCppEmbedder) -> InMemoryStore:
    made = InMemoryStore(embedder.dimension)
    vectors = embedder.embed(MEMORIES, "document")
    made.put([ports.Embedded(in_memory.memory(text), vector) for text, vector in zip(MEMORIES, vectors, strict=True)])
    return made


def _recalled(words: str, store: InMemoryStore, embedder: LlamaCppEmbedder | None) -> list[str]:
    scope = models.Scope(models.LOCAL.team, models.LOCAL.user)
    found = engine.recall(words, scope, store=store, embedder=embedder, knobs=engine.Knobs(), now=in_memory.NOW)
    return [one.memory.text for one in found.ranked]


@pytest.mark.parametrize(("with_embeddings", "least_found", "most_noise"), [(True, 28, 5), (False, 21, 3)])
def test_what_is_asked_for_is_shown_and_the_rest_is_silence(
    store: InMemoryStore, embedder: LlamaCppEmbedder, with_embeddings: bool, least_found: int, most_noise: int
) -> None:
    used = embedder if with_embeddings else None

    missed = [words for words, wanted in ASKED if wanted not in _recalled(words, store, used)]
    noise = [(words, shown) for words in UNRELATED if (shown := _recalled(words, store, used))]

    assert len(ASKED) - len(missed) >= least_found, missed
    assert len(noise) <= most_noise, noise
