"""Writes a lesson that is green and says nothing yet: `python book/_ext/stub.py 17-weight-decay`.

The folder `stub` holds its files, at their places in the repository, with NN for the number.
"""

import re
import sys
from pathlib import Path

STUB = Path(__file__).with_suffix("")
ROOT = STUB.parents[2]
LESSON = re.compile(r"      - file: lessons/\d\d-.*\n        title: .*\n")  # in the contents


def write(name: str) -> list[Path]:
    """Writes the files of lesson `name`, such as 17-weight-decay; returns their paths.

    ValueError: the name is no number and words, or such a lesson exists, and nothing is written.
    """
    if not re.fullmatch(r"\d\d(-[a-z0-9]+)+", name):
        raise ValueError(f"expected a number and words, such as 17-weight-decay; got {name!r}")
    number = name[:2]
    written = {}
    for file in sorted(path for path in STUB.rglob("*.*") if path.is_file()):
        place = str(file.relative_to(STUB)).replace("NAME", name).replace("NN", number)
        written[ROOT / place] = file.read_text(encoding="utf-8").replace("NN", number)
    same = (ROOT / "lessons" / "text").glob(f"{number}-*.md")
    if taken := sorted({path.name for path in [*filter(Path.exists, written), *same]}):
        raise ValueError(f"lesson {number} exists: {', '.join(taken)}")
    contents = ROOT / "book" / "_toc.yml"
    text = contents.read_text(encoding="utf-8")
    *_, last = LESSON.finditer(text)
    title = f"{number} {name[3:].replace('-', ' ').capitalize()}"
    entry = f'      - file: lessons/{name}\n        title: "{title}"\n'
    written[contents] = text[: last.end()] + entry + text[last.end() :]
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    return list(written)


if __name__ == "__main__":
    try:
        for path in write(*sys.argv[1:2] or [""]):
            print(path.relative_to(ROOT))
    except ValueError as error:
        sys.exit(str(error))
