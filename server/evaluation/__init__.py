"""Whether debating pays: one model, blind votes and debates on questions whose answers are known."""
