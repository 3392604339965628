"""The documents: every link and picture leads to a file that is there and to a heading that it has, docs/README.md lists every page,
and every `make TARGET` is one.

usage: test_links.py SOURCES
"""
import re
import sys
from pathlib import Path

FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?:(?: {4}|\t).*\n|\n(?= {4}))+")
SPAN = re.compile(r"`[^`]*`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
MAKE = re.compile(r"(?:^ {4}|`)(?:sudo )?make ([a-z][a-z-]*)", re.MULTILINE)


def anchors(text):
    """As GitHub makes them of headings."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        number = 1
        unique = name
        while unique in found:
            unique, number = f"{name}-{number}", number + 1
        found.add(unique)
    return found


def links(text):
    return LINK.findall(SPAN.sub("", INDENTED.sub("", FENCED.sub("", text))))


def broken_link(page, link):
    path, _, anchor = link.partition("#")
    target = page if not path else page.parent / path
    if not target.exists():
        return f"{link} is not there"
    if anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
        return f"{link}: there is no such heading"
    return None


def problems(root):
    pages = sorted([*root.glob("*.md"), *root.glob("docs/*.md")])
    targets = set(re.findall(r"^([a-z][a-z-]*):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for link in links(text):
            if link.startswith("https://"):
                continue
            problem = broken_link(page, link)
            if problem:
                yield f"{page.relative_to(root)}: {problem}"
        for target in MAKE.findall(text):
            if target not in targets:
                yield f"{page.relative_to(root)}: there is no make {target}"
    index = root / "docs" / "README.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in links(index.read_text(encoding="utf-8"))}
    for page in pages:
        if page != index and page.resolve() not in listed:
            yield f"docs/README.md does not list {page.relative_to(root)}"


def main():
    found = list(problems(Path(sys.argv[1]).resolve()))
    for problem in found:
        print(problem, file=sys.stderr)
    sys.exit(bool(found))


main()
