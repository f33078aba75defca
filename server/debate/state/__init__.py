"""What a debate has come to: the state that its facts make, who sits in it, and the labels of its positions."""
