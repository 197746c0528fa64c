"""Control characters, by which a text could rewrite a terminal's screen, or its settings."""

import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # but for tabs and line feeds


def visible(text: str) -> str:
    """A text that a terminal only writes: control characters as escapes such as `\\x1b`."""
    return CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)
