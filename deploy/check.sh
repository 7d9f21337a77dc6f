#!/usr/bin/env bash
# The linters of `make compose-check`, over every merge as Compose makes it. Their programs are those of requirements/deploy.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PUBLISH_ADDRESS=127.0.0.1 BRB_ALLOWED_HOSTS=localhost

for override in "" edge cuda host-llm team "edge cuda" "edge host-llm" "edge team" "cuda team" "host-llm team" "edge cuda team" "edge host-llm team"; do
    files=(--file docker-compose.yml)
    for part in $override; do files+=(--file "compose.$part.yml"); done
    merge="$work/merged${override:+-${override// /-}}.yml"
    docker-compose --env-file /dev/null "${files[@]}" config >"$merge"
done
echo "Compose merges $(find "$work" -name '*.yml' | wc -l) sets of files"

check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml "$work"/*.yml
# not its rule about digests: a maintainer pins them at a release (docs/deployment.md)
compose-lint check --quiet --skip-suppressed --fail-on medium --config compose-lint.yml docker-compose.yml "$work"/*.yml
hadolint Dockerfile ../tests/compose/Dockerfile
shellcheck ./*.sh
