#!/usr/bin/env bash
# An environment for each framework: some of them pin an older SDK of MCP than our server needs.
set -euo pipefail
cd "$(dirname "$0")"
uv=../../../.venv/bin/uv
for requirements in requirements/*.txt; do
  environment="environments/$(basename "$requirements" .txt)"
  "$uv" venv --quiet --clear --python ../../../.venv/bin/python "$environment"
  "$uv" pip install --quiet --python "$environment/bin/python" --requirement "$requirements"
done
