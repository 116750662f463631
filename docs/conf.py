"""The site of these pages: `make site` builds it with Sphinx, and every warning is an error."""

project = "grader"
html_title = "grader"
language = "en"

# Read from the repository's root, so that links lead to the README and back.
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "*.md",
    "ci/README.md",
    "tests/hostile/README.md",
    "tests/sheets/*.md",
    "tests/submissions/README.md",
]
exclude_patterns = [".*", "build", "wheelhouse", "CHANGELOG.md"]
html_extra_path = ["site"]  # its index.html leads to docs/index.html

extensions = ["myst_parser"]
myst_heading_anchors = 3
nitpicky = True
highlight_language = "text"  # of blocks that name none

html_theme = "furo"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
