"""How sphinx-revealjs makes the decks that book/_ext/slides.py chooses."""

from importlib.util import find_spec
from pathlib import Path

project = "muonlab"
author = "The muonlab maintainers"
extensions = ["myst_nb", "sphinx.ext.mathjax", "sphinx_revealjs"]
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header", "myst.xref_missing"]

nb_execution_mode = "off"
nb_render_markdown_format = "myst"
nb_ipywidgets_js = {"../widgets.js": {}}
nb_mime_priority_overrides = [
    ("revealjs", kind, place)
    for place, kind in enumerate(
        ("application/vnd.jupyter.widget-view+json", "text/html", "text/markdown", "text/plain")
    )
]
myst_enable_extensions = ["dollarmath", "smartquotes"]

revealjs_style_theme = "white"
mathjax_path = "tex-svg.js"  # one file, without fonts; the book has the others
MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
html_extra_path = ["../assets/live"]
revealjs_static_path = ["static", str(MATHJAX / mathjax_path)]
revealjs_css_files = ["slides.css"]
revealjs_js_files = ["slides.js"]
revealjs_script_files = ["revealjs/dist/reveal.js"]
revealjs_script_plugins = [{"src": "revealjs/plugin/notes/notes.js", "name": "RevealNotes"}]
revealjs_script_conf = {
    "width": 1280,
    "height": 720,
    "margin": 0.03,
    "center": False,
    "hash": True,
    "controls": False,
    "slideNumber": "c/t",
    "transition": "none",
    "viewDistance": 20,  # a figure that is not laid out cannot be drawn
    "pdfSeparateFragments": False,
}
html_copy_source = False
html_show_sourcelink = False
