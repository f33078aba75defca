"""The seats beside debaters and judges: a file each, with all that is their own, and the registry of all of them."""
