python3 -m venv .venv && .venv/bin/pip install --constraint constraints.txt '.[local]' && .venv/bin/counterpoint demo
