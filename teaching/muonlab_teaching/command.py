"""The verb `muonlab teach`: what teachers do from a terminal; verbs.toml says what they can ask.

What reads notebooks is imported where it is used: every other verb would start a second later.
"""

import argparse


def _class(options: argparse.Namespace) -> int:
    from muonlab_teaching import class_page

    print(class_page.write_page(options.folder, options.out))
    return 0


def _export(options: argparse.Namespace) -> int:
    from muonlab_teaching.export import export

    for line in export(options.lessons, options.to, options.seed):
        print(line, flush=True)  # nbgrader takes some seconds for each
    print(f"in {options.to}: source, release (for nbgrader), student, teacher (the lessons)")
    return 0


def _sheet(options: argparse.Namespace) -> int:
    from muonlab_teaching import sheet

    exercises, ticket = options.exercises or sheet.EXERCISES, options.ticket or sheet.TICKET
    print(sheet.write_sheet(exercises, ticket, options.out))
    return 0


RUNS = {"class": _class, "export": _export, "sheet": _sheet}
