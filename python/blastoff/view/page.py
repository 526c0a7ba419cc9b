"""Self-contained pages: templates of one command, with the style of all."""

from pathlib import Path

import jinja2


def template(package: str, name: str) -> jinja2.Template:
    """A template of the package `package`, which may include style.css."""
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(package), jinja2.FileSystemLoader(Path(__file__).parent)])
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.get_template(name)
