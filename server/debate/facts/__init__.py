"""The facts of a debate (events) and the state that follows from them."""
