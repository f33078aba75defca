"""The state machine: what comes next, what models are sent, what their replies are, and what events change."""
