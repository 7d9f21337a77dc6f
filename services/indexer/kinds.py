"""What kind of thing a value is: a new one takes the place of another only of its own kind. Pure; English words and well-known products."""

import re
from collections.abc import Mapping

from services.indexer import likeness

_NAMES: Mapping[str, str] = {
    "database": "postgres, mysql, mariadb, sqlite, oracle, sql server, mssql, mongo, cockroach, cassandra, scylla, dynamo, couchdb, firestore, "
    "planetscale, neon, aurora, spanner, tidb, yugabyte, duckdb, clickhouse, timescale, surrealdb, db2, supabase",
    "cache": "redis, valkey, memcached, dragonfly, keydb, varnish",
    "queue": "kafka, rabbitmq, nats, sqs, pulsar, kinesis, activemq, zeromq, celery, sidekiq, rq, pub/sub, pubsub, redpanda",
    "vector store": "qdrant, pinecone, weaviate, milvus, chroma, pgvector, faiss",
    "search engine": "elasticsearch, opensearch, solr, meilisearch, typesense, algolia, vespa",
    "language": "python, go, rust, java, kotlin, scala, typescript, javascript, ruby, php, c, c++, c#, swift, zig, elixir, erlang, haskell, ocaml, "
    "clojure, dart, perl, lua, julia, r, nim, crystal, f#, objective-c, gleam",
    "cloud": "aws, gcp, google cloud, azure, heroku, fly, fly.io, render, railway, digitalocean, hetzner, linode, vercel, netlify, ovh, "
    "cloudflare, cloudflare workers, scaleway, oracle cloud, bare metal",
    "ci": "travis, travis ci, jenkins, github actions, gitlab ci, gitlab, circleci, circle ci, buildkite, teamcity, drone, bamboo, azure devops, "
    "azure pipelines, woodpecker, concourse",
    "code host": "github, gitlab, bitbucket, gitea, forgejo, codeberg, sourcehut",
    "version control": "git, mercurial, svn, subversion, perforce, jujutsu, fossil",
    "editor": "vim, neovim, emacs, vscode, sublime, sublime text, pycharm, intellij, intellij idea, webstorm, goland, rider, zed, cursor, helix, "
    "nano, atom, notepad++, textmate, kakoune, xcode, windsurf, micro, eclipse",
    "shell": "bash, zsh, fish, nushell, powershell, ksh",
    "terminal": "iterm, iterm2, alacritty, kitty, wezterm, ghostty, warp, windows terminal, gnome terminal",
    "system": "linux, macos, windows, ubuntu, debian, fedora, arch, arch linux, nixos, freebsd, mint, linux mint, alpine, centos, rhel, rocky, mac",
    "browser": "firefox, chrome, safari, edge, brave, arc, opera, vivaldi, chromium",
    "package manager": "npm, pnpm, yarn, bun, pip, poetry, uv, pipenv, conda, pdm, rye, hatch",
    "bundler": "webpack, vite, rollup, esbuild, parcel, turbopack, rspack",
    "build tool": "maven, gradle, bazel, make, cmake, meson, sbt, ninja, pants, buck",
    "web framework": "django, flask, fastapi, rails, ruby on rails, laravel, spring, spring boot, express, nestjs, litestar, phoenix, gin, actix, "
    "axum, sinatra, koa, fastify, hono, starlette, tornado, symfony, asp.net, quarkus, micronaut",
    "interface framework": "react, vue, angular, svelte, sveltekit, solid, preact, ember, qwik, nextjs, nuxt, remix, astro, htmx, jquery, "
    "backbone, lit",
    "mobile framework": "flutter, react native, ionic, xamarin, swiftui, jetpack compose, expo",
    "style system": "tailwind, bootstrap, sass, less, styled-components, emotion, css modules, bulma, material ui, mui, chakra, chakra ui",
    "state library": "redux, mobx, zustand, recoil, jotai, pinia, vuex, xstate",
    "test tool": "jest, vitest, mocha, jasmine, ava, pytest, unittest, nose, rspec, minitest, junit, testng, phpunit",
    "browser test tool": "cypress, playwright, selenium, puppeteer, webdriverio, testcafe",
    "linter": "eslint, ruff, flake8, pylint, biome, rubocop, golangci-lint, oxlint, tslint",
    "formatter": "prettier, black, yapf, autopep8, gofmt, rustfmt, dprint",
    "type checker": "mypy, pyright, pyre, ty, pytype",
    "mapper": "sqlalchemy, prisma, typeorm, sequelize, drizzle, hibernate, active record, knex, mikroorm, django orm, tortoise, peewee, gorm",
    "api style": "rest, graphql, grpc, soap, trpc, json-rpc",
    "container tool": "docker, podman, containerd, nerdctl, lxc",
    "orchestrator": "kubernetes, nomad, docker swarm, swarm, ecs, mesos, cloud run, fargate, eks, gke, docker compose",
    "provisioning": "terraform, pulumi, opentofu, cloudformation, cdk, ansible, chef, puppet, saltstack",
    "web server": "nginx, apache, caddy, traefik, haproxy, envoy, kong",
    "monitoring": "datadog, prometheus, grafana, new relic, dynatrace, zabbix, nagios, honeycomb, splunk",
    "error tracker": "sentry, bugsnag, rollbar, glitchtip",
    "identity": "auth0, okta, keycloak, cognito, clerk, firebase auth, ory, zitadel",
    "payment": "stripe, paypal, adyen, braintree, mollie, square, paddle",
    "mail sender": "sendgrid, mailgun, postmark, ses, resend, mailchimp, sparkpost",
    "warehouse": "snowflake, bigquery, redshift, databricks",
    "scheduler": "airflow, dagster, prefect, luigi, temporal, argo",
    "tracker": "jira, linear, trello, asana, github issues, shortcut, clickup, monday, basecamp, youtrack, pivotal tracker, redmine",
    "chat": "slack, teams, microsoft teams, discord, mattermost, zulip, rocket.chat, telegram, signal, whatsapp",
    "meeting tool": "zoom, google meet, meet, webex, jitsi",
    "notes": "notion, obsidian, evernote, confluence, roam, logseq, onenote, bear, apple notes",
    "design tool": "figma, sketch, adobe xd, penpot, invision",
    "model": "gpt-4, gpt-4o, gpt-5, claude, gemini, llama, mistral, qwen, opus, sonnet, haiku",
    "keyboard layout": "qwerty, dvorak, colemak, workman, qwertz, azerty",
    "phone": "iphone, pixel, galaxy, android, fairphone, oneplus",
    "theme": "dark mode, light mode, dark theme, light theme",
    "indentation": "tabs, spaces",
    "marital status": "single, married, divorced, engaged, widowed, separated, in a relationship",
    "diet": "vegetarian, vegan, pescatarian, omnivore, carnivore, flexitarian",
    "hand": "left-handed, right-handed, ambidextrous",
    "branch": "main, master, trunk, develop",
}

NAMES = frozenset(_NAMES)
"""What kinds are called."""

EXCLUSIVE = frozenset({"theme", "indentation", "marital status", "diet", "hand"})
"""Of these nobody has two at once, so that another one needs no word of change."""

SEVERAL = frozenset({"language"})
"""Of these a team has several at once: another one is a change only of one thing ("the auth service is written in …")."""

_ROLES = re.compile(
    r"(?:engineer|developer|programmer|designer|manager|architect|analyst|scientist|student|teacher|nurse|doctor|lawyer|consultant|contractor"
    r"|founder|director|lead|intern|researcher|writer|editor|accountant|c[teof]o|sre|dba|dev|pm|professor|freelancer|administrator|admin|chef)"
)
_RELATIVES = re.compile(r"(?:(?:grand|god)?(?:father|mother|parent)|dad|mom|mum|husband|wife|brother|sister|son|daughter|uncle|aunt|twin)")
_HEAD = re.compile(r"\s(?:of|at|for|in|with|from|on|to)\b")
_LEAST_HEAD = 4


def of(value: str) -> frozenset[str]:
    """Its kinds, none if it is not known. Versions and articles do not count: "Postgres 16" is a database, "a backend engineer" has an occupation."""
    name = _name(value)
    if known := _KINDS.get(name):
        return known
    head = _HEAD.split(name)[0].split()
    last = head[-1] if head else ""
    if _RELATIVES.fullmatch(last):
        return frozenset({"family"})
    return frozenset({"occupation"}) if _ROLES.fullmatch(last) else _KINDS.get(" ".join(head), frozenset())


def same(one: str, other: str) -> bool | None:
    """Whether two values are of one kind; None if that can't be told."""
    mine, theirs = of(one), of(other)
    if mine and theirs:
        return bool(mine & theirs)
    if likeness.opposed(one, other) or likeness.frame(one) == likeness.frame(other):
        return True
    if likeness.measured(one) != likeness.measured(other):
        return False
    return True if likeness.measured(one) or _head(one) == _head(other) != "" else None


def rivals(value: str) -> str:
    """The names of everything of its kinds, to look for; "" if there are none."""
    return " ".join(sorted({name for kind in of(value) for name in _NAMES.get(kind, "").split(", ") if name}))


def _name(value: str) -> str:
    return " ".join(likeness.unversioned(value))


def _head(value: str) -> str:
    words = _name(value).split()
    return words[-1] if len(words) > 1 and len(words[-1]) >= _LEAST_HEAD else ""


def _by_name() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for kind, names in _NAMES.items():
        for name in names.split(", "):
            found.setdefault(_name(name), set()).add(kind)
    return {name: frozenset(kinds) for name, kinds in found.items()}


_KINDS = _by_name()
