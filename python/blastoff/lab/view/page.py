"""The results as one self-contained page."""

from typing import Any

from blastoff.lab.view import plots, words
from blastoff.view.page import template


def sections(document: dict[str, Any]) -> list[dict[str, Any]]:
    """One section for each set that measured something."""
    found = []
    for name, part in document["sets"].items():
        if part["rows"]:
            title, explanation = words.TITLES[name]
            headings, body = words.TABLES[name](part["rows"])
            figures = plots.FIGURES[name](part["rows"])
            found.append({"title": title, "explanation": explanation, "rules": part["rules"], "figures": figures, "headings": headings, "body": body})
    return found


def render(document: dict[str, Any]) -> str:
    """The page as HTML text, which refers to nothing outside it."""
    return template("blastoff.lab.view", "lab.html.j2").render(
        device=document["device"]["name"],
        date=document["date"],
        facts=words.facts(document),
        findings=document["findings"],
        sections=sections(document),
        unable=words.unable(document),
    )
