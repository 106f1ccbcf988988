"""How Sphinx makes the site. Nothing is fetched from elsewhere, neither here nor in the reader's browser."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Theodolite"
html_title = "Theodolite"
language = "en"
extensions = ["myst_parser", "sphinx_copybutton", "_formulas"]
myst_enable_extensions = ["attrs_inline", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]  # made tables have headings of their own level
highlight_language = "text"
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_static_path = [str(Path(__file__).parents[1] / "assets")]
html_css_files = ["theodolite.css"]
html_js_files = ["sortable.js"]
html_logo = html_favicon = str(Path(__file__).parents[1] / "assets" / "logo.svg")
html_show_sourcelink = html_copy_source = False
html_use_index = False
smartquotes = False
html_show_search_summary = False  # summaries are fetched page by page, which a browser refuses from disk
html_sidebars = {"index": [], "tutorial": []}
html_theme_options = {
    "logo": {"text": "Theodolite"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "navigation_depth": 2,
    "show_nav_level": 2,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_exclude = ".linenos, .gp, .go"
project_copyright = "The Theodolite authors. Apache-2.0"
