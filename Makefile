# One command each: `make lab` to learn, `make test` to check, `make book` to read.
PYTHON ?= python3
BIN := .venv/bin
QUICK := architecture muon_step orthogonalize optim normuon controls lion routing gpt attention \
  statistics grids study pins

SLOW := pool launches fast train engines race use_it recorded

.PHONY: lab test types suite quick lessons format slides book pdf bundle browser processes slow grades lesson clean

lab: .venv/lab
	$(BIN)/muonlab lab

test: .venv/all
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(MAKE) --no-print-directory --jobs 2 types suite

types:
	$(BIN)/mypy

suite:
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder  # some tests wait

quick: .venv/all  ## what a change in the package needs first
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 $(addprefix tests/test_,$(addsuffix .py,$(QUICK)))

lessons: .venv/all  ## re-execute the lessons from lessons/text
	$(BIN)/python book/_ext/release.py
	$(BIN)/python book/_ext/pictures.py

lesson: .venv/all  ## a new lesson that is green: make lesson NAME=17-weight-decay
	$(BIN)/python book/_ext/stub.py $(NAME)
	$(BIN)/python book/_ext/release.py $(firstword $(subst -, ,$(NAME)))

format: .venv/all  ## the code of the lessons' texts, as wide as the book's column
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/jupytext --quiet --pipe "ruff format --line-length 84 -" \
	  lessons/text/*.md
	perl -ni -e 'print unless /^    (format|jupytext)_version: /' lessons/text/*.md
	$(BIN)/ruff format --line-length 84 lessons/text/*.md

slides: .venv/all  ## one deck a lesson: book/_build/html/slides/index.html
	$(BIN)/python book/_ext/slides.py

book: slides
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/jupyter-book build . --config book/_config.yml \
	  --toc book/_toc.yml --path-output book -W -n --keep-going

ONE := book/_build/singlehtml

pdf: .venv/all  ## the whole book, some 500 pages: dist/muonlab.pdf; needs Debian's chromium
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/jupyter-book build . --config book/_config.yml \
	  --toc book/_toc.yml --path-output book --builder singlehtml --keep-going
	cp $(ONE)/book/intro.html $(ONE)/all.html  # beside its styles and formulas
	mkdir -p dist
	chromium --headless --no-sandbox --no-pdf-header-footer --virtual-time-budget=120000 \
	  --print-to-pdf=dist/muonlab.pdf "file://$(abspath $(ONE))/all.html"

bundle: book  ## the course in one archive: dist/muonlab-VERSION.zip
	$(BIN)/python book/_ext/bundle.py

browser: .venv/all  ## needs Debian's chromium-headless-shell, or chromium
	$(BIN)/python -m pytest -n 3 -m browser $$(grep -l mark.browser tests/*.py)  # some tests wait

processes: .venv/all  ## what starts many: graders and their sandbox, sharded training
	$(BIN)/python -m pytest -n 3 --dist loadfile -m processes $$(grep -l mark.processes tests/*.py)

slow: .venv/all  ## what is slow and seldom breaks: workers that are killed, compiled steps
	$(BIN)/python -m pytest -m slow $(addprefix tests/test_,$(addsuffix .py,$(SLOW)))

grades: .venv/all  ## nbgrader, on all that can be handed in for every exercise: half an hour
	$(BIN)/python -m pytest -m slow tests/test_teaching.py

unexport PYTHONDONTWRITEBYTECODE  # every process would compile anew what it loads

INSTALL := $(BIN)/python -m pip install --quiet -c constraints.txt
# Loading compiles; to compile all that is installed would take three times as long.
LOADED := muonlab.cli, muonlab.classroom, jupyterlab.labapp, ipykernel.kernelapp

.venv/all: EXTRAS := [test,book,grading,ray,slurm]
.venv/lab .venv/all: pyproject.toml constraints.txt
	test -d .venv || $(PYTHON) -m venv .venv
	-$(INSTALL) --upgrade pip  # Python 3.11's own would do, in twice the time
	$(INSTALL) --no-compile -e '.$(EXTRAS)'
	$(BIN)/python -c "import $(LOADED)"
	touch .venv/lab $@

clean:
	rm -rf .venv book/_build
