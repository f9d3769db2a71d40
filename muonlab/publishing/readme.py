"""The README begins as the book's home page does: `python -m muonlab.publishing.readme`."""

import re

from muonlab.files import course, replace_file
from muonlab.publishing.book import fill

PATH = course() / "README.md"
MADE = re.compile(r"(?<=<!-- made from book/intro\.md -->\n\n).*(?=\n\n<!-- end -->)", re.DOTALL)
LINK = re.compile(r'<a href="\.\./(lessons/[\w-]+)\.html#[\w-]+">(.*?)</a>')


def answer() -> str:
    """Returns how the home page begins, up to its buttons, its numbers as links to the lessons."""
    home = (course() / "book" / "intro.md").read_text(encoding="utf-8")
    return LINK.sub(_as_markdown, fill(home.split("\n\n<a ")[0]))


def _as_markdown(link: re.Match[str]) -> str:
    told = link[2].replace("[", r"\[").replace("]", r"\]")
    return f"[{told}]({link[1]}.ipynb)"


def filled(text: str) -> str:
    """Returns a README with what is made from the home page; ValueError without its place."""
    made, places = MADE.subn(lambda _: answer(), text)
    if places != 1:
        raise ValueError(f"{PATH.name} needs one place between 'made from book/intro.md' and 'end'")
    return made


def main() -> None:
    """Writes the README."""
    replace_file(PATH, filled(PATH.read_text(encoding="utf-8")).encode())
    print(f"{PATH.name}: written")


if __name__ == "__main__":
    main()
