"""`python -m bangbang`, which is also how torchrun starts it."""

from bangbang.cli.main import entry

if __name__ == "__main__":
    entry()
