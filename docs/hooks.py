"""Files at the root of the repository as pages of the site."""

from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]


def on_files(files, config):
    """Add them, with their links into docs/ made relative to it."""
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, **_):
    """Let links that lead out of docs/ to such a file lead to its page."""
    return markdown.replace("](../", "](")
