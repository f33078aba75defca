"""What all debates of a process share about providers: concurrency limits, cooldowns, circuit breakers."""
