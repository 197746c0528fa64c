"""Corpora: readers of (source, references) pairs, built in or from files. `data` stores what they read."""
