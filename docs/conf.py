"""How the documentation is built: ``make docs``, warnings are errors."""

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst.directives.images import Image
from sphinx.directives.other import Include

import bgn

sys.path.insert(0, str(Path(__file__).parents[1]))  # the studies are no part of the package
from experiments import cite, published

os.environ.setdefault("MPLBACKEND", "agg")

project = "bgn"
author = "The bgn maintainers"
copyright = "2026, the bgn maintainers"
version = release = bgn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "results/generated"]
if not find_spec("torch"):  # the page needs it to read the docstrings
    exclude_patterns.append("api_baselines.rst")
    suppress_warnings = ["toc.excluded"]
if built := published.build():
    print(f"Tables and figures of published runs: {', '.join(built)}")
for page in Path(__file__).parent.glob("results/*.rst"):  # pages of results that were not published yet
    shown = re.findall(r"published-(table|figure):: (\S+)", page.read_text(encoding="utf-8"))
    if not all(published.file(kind, name).exists() for kind, name in shown):
        exclude_patterns.append(f"results/{page.name}")
default_role = "code"

autosummary_generate = True
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_score_request, set_predict_request, set_predict_proba_request,"
    " get_metadata_routing"
}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "ignore_pattern": "demo|front_figure",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "api/examples",  # what the pages of the API link to
    "doc_module": ("bgn",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "plot_gallery": True,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "bgn"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "secondary_sidebar_items": {
        "*": ["page-toc"],
        "index": [],
        "api/*": ["page-toc"],
        "auto_examples/*": ["page-toc"],
        "results/*": [],
    },
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}
html_static_path = ["_static"]
html_css_files = ["bgn.css"]


class PublishedTable(Include):
    """``.. published-table:: reduced/accuracy``: a table built from published runs."""

    def run(self):
        self.arguments[0] = (
            f"/{published.file('table', self.arguments[0]).relative_to(Path(__file__).parent).as_posix()}"
        )
        return super().run()


class PublishedFigure(Image):
    """``.. published-figure:: reduced/bounds``: a figure drawn from published runs."""

    def run(self):
        found = published.file("figure", self.arguments[0])
        self.arguments[0] = f"/{found.relative_to(Path(__file__).parent).as_posix()}"
        return super().run()


def measured(name, rawtext, text, lineno, inliner, options=None, content=()):
    """``:measured:`reduced/trees | averaged columns, 3, tree | test MSE```: a figure of a table, or a claim."""
    try:
        return [nodes.Text(cite.cited(text))], []
    except ValueError as error:
        told = inliner.reporter.error(f"{rawtext}: {error}", line=lineno)
        return [inliner.problematic(rawtext, rawtext, told)], [told]


def setup(app):
    """Teach Sphinx to show what was published."""
    app.add_directive("published-table", PublishedTable)
    app.add_directive("published-figure", PublishedFigure)
    app.add_role("measured", measured)
