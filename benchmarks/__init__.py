"""What is too long for the tests: speed, by `bangbang bench`; crashes, mutated files, large corpora, by
`python -m benchmarks.NAME`."""
