"""A page with pictures and what each run said of them. Everything is in the one file."""

import base64
import html
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bangbang.cli.pictures import Picture

STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1200px; padding: 0 1rem; }
h1 { font-size: 1.25rem; font-weight: 600; margin: 0 0 .25rem; }
p.note { margin: 0 0 1.5rem; opacity: .7; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: 1.25rem; }
figure { border: 1px solid var(--line); border-radius: 8px; margin: 0; overflow: hidden; }
figure img { background: var(--line); display: block; height: 200px; object-fit: contain; width: 100%; }
figcaption { padding: .75rem .9rem 1rem; }
.file { font-size: .8rem; opacity: .65; overflow-wrap: anywhere; }
dl { margin: .5rem 0 0; }
dt { font-size: .8rem; font-weight: 600; margin-top: .5rem; opacity: .75; }
dd { margin: 0; }
"""


def page(pictures: "Sequence[Picture]", columns: Sequence[tuple[str, Sequence[Sequence[str]]]]) -> str:
    """HTML of all pictures; `columns` has each run's name and, for every picture, its captions, best first."""
    figures = "\n".join(
        figure(picture, [(name, texts[place]) for name, texts in columns]) for place, picture in enumerate(pictures)
    )
    runs = ", ".join(html.escape(name) for name, _ in columns)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Captions by {runs}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>What each run says</h1>\n<p class="note">{len(pictures)} pictures, captioned by {runs}</p>\n'
        f"<main>\n{figures}\n</main>\n</body>\n</html>\n"
    )


def figure(picture: "Picture", said: Sequence[tuple[str, Sequence[str]]]) -> str:
    rows = "".join(
        f"<dt>{html.escape(name)}</dt>" + "".join(f"<dd>{html.escape(text) or '<i>nothing</i>'}</dd>" for text in texts)
        for name, texts in said
    )
    name, best = html.escape(picture.path.name), html.escape(said[0][1][0], quote=True)
    return (
        f'<figure><img src="{data_address(picture)}" alt="{best}">'
        f'<figcaption><div class="file">{name}</div><dl>{rows}</dl></figcaption></figure>'
    )


def data_address(picture: "Picture") -> str:
    """The picture as an address that holds its bytes."""
    stream = io.BytesIO()
    picture.image.save(stream, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
