#!/usr/bin/env bash
# An environment for each framework: some of them pin an older SDK of MCP than our server needs.
set -euo pipefail
cd "$(dirname "$0")"
for requirements in requirements/*.txt; do
  environment="environments/$(basename "$requirements" .txt)"
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --requirement "$requirements"
done
