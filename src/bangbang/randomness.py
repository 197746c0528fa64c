"""Seeds as pure functions of what they are for, so that any step of any run can be drawn again."""

import hashlib


def seed_for(*parts: int | str) -> int:
    """A 63-bit seed from, say, (run seed, "dropout", step, rank); different parts give unrelated seeds."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
