"""Names of tools by what they are for: a thing that one usually has one of is told apart from another of its kind. Pure."""

import re


def _names(text: str) -> frozenset[str]:
    return frozenset(name.replace("_", " ") for name in text.split())


_KINDS = {
    "database": "postgres postgresql mysql mariadb sqlite cockroachdb mongo mongodb dynamodb cassandra oracle mssql firestore supabase neo4j"
    " couchdb yugabytedb planetscale scylladb rethinkdb aurora spanner tidb neon turso",
    "cache": "redis memcached valkey dragonfly keydb",
    "message broker": "kafka rabbitmq nats pulsar activemq sqs redpanda mosquitto",
    "ci": "jenkins travis circleci buildkite teamcity drone woodpecker bamboo appveyor github_actions gitlab_ci azure_pipelines travis_ci concourse",
    "cloud": "aws gcp azure hetzner heroku digitalocean fly.io vercel netlify render railway linode ovh scaleway cloudflare google_cloud",
    "search": "elasticsearch opensearch solr meilisearch typesense algolia",
    "vector database": "qdrant pinecone weaviate milvus chroma pgvector",
    "editor": "vim neovim nvim emacs vscode vs_code visual_studio_code sublime sublime_text helix zed cursor pycharm intellij webstorm nano kakoune"
    " rider eclipse xcode jetbrains",
    "shell": "bash zsh fish nushell powershell",
    "terminal": "iterm iterm2 alacritty kitty wezterm ghostty konsole",
    "browser": "firefox chrome safari brave edge vivaldi opera chromium arc",
    "operating system": "macos windows linux ubuntu debian fedora arch nixos mint manjaro",
    "frontend framework": "react vue svelte angular sveltekit next.js nextjs nuxt remix solid solidjs preact ember qwik astro htmx",
    "web framework": "django flask fastapi rails laravel spring express nestjs phoenix gin echo actix axum litestar starlette"
    " sinatra symfony fastify koa"
    " hono",
    "package manager": "npm yarn pnpm bun pip poetry uv pipenv conda",
    "bundler": "webpack vite rollup esbuild parcel turbopack rspack",
    "test runner": "jest vitest mocha pytest unittest nose rspec junit playwright cypress",
    "orchestrator": "kubernetes k8s nomad ecs swarm docker_swarm k3s openshift",
    "formatter": "black prettier yapf gofmt rustfmt",
    "linter": "ruff flake8 pylint eslint biome golangci-lint",
    "issue tracker": "jira linear trello asana clickup youtrack shortcut",
    "chat": "slack discord teams mattermost zulip",
    "notes": "notion obsidian evernote logseq roam",
    "web server": "nginx caddy apache traefik haproxy envoy",
    "logging": "loki splunk graylog papertrail",
    "monitoring": "prometheus datadog grafana new_relic zabbix nagios sentry honeycomb",
    "design tool": "figma sketch penpot",
    "infrastructure code": "terraform pulumi opentofu cloudformation ansible",
    "version control": "git mercurial subversion perforce",
    "code host": "github gitlab bitbucket gitea codeberg forgejo",
    "blob storage": "minio s3 gcs r2 ceph seaweedfs",
}
_PROGRAM_LANGUAGES = _names(
    "python java javascript typescript go golang rust c c++ c# ruby php swift kotlin scala haskell elixir erlang clojure perl r julia dart lua ocaml"
    " f# zig elm cobol fortran nim crystal gleam racket scheme lisp"
)
_LANGUAGES = _PROGRAM_LANGUAGES | _names(
    "node node.js nodejs deno sql solidity matlab bash html css graphql docker celery pandas numpy pytorch"
    " tensorflow spark airflow dbt excel blender unity unreal godot figma tailwind bootstrap qt gtk flutter react_native electron tauri"
)
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in _names(names)}
_VERSION = re.compile(r"^(?P<name>[A-Za-z][\w.+#-]*(?: [A-Z][\w.+#-]*){0,2}?) v?(?P<number>\d+(?:\.\d+)*)(?: LTS)?$")


def kind(value: str) -> str:
    """What the tool is for ("database"), or "" if it is not known or names a language, of which one uses several."""
    versioned = _VERSION.match(value)
    return _KIND_OF.get((versioned["name"] if versioned else value).lower(), "")


def known(value: str) -> bool:
    """Whether the first word or words name a tool or a language."""
    words = value.lower().rstrip(".,").split()
    return any(" ".join(words[:n]) in _KIND_OF or " ".join(words[:n]) in _LANGUAGES for n in (1, 2, 3))


def language(value: str) -> bool:
    """Whether it names a language in which whole programs are written, of which each program has one."""
    return value.lower() in _PROGRAM_LANGUAGES


def versioned(value: str) -> str:
    """The product of "Python 3.12" in lower case, or ""."""
    match = _VERSION.match(value)
    return match["name"].lower() if match else ""
