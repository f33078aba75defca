python3 -m venv .venv && .venv/bin/pip install --quiet --constraint constraints.txt '.[local]' && .venv/bin/counterpoint demo
