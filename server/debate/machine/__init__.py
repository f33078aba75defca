"""The state machine: what events change, and what comes next."""
