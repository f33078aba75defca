"""What is argued: the points of turns, what they do to each other, and which of them stand."""
