# Two commands: `make demo` shows what memstrata does, `make test` checks all of it. Both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What a memory does, once more with every store in a PostgreSQL server.
ON_POSTGRES := tests/unit/notes $(addprefix tests/integration/test_,notes.py note_verbs.py undo.py decisions.py erase.py worker_command.py)

.PHONY: setup demo test lint types soak bench docs clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) tools/make_venv.py $(VENV)
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --editable ".[multilingual,static,eval,server,client,mcp]" --group dev
	@touch $@

demo: setup
	@$(BIN)/memstrata demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

test: lint types
	$(BIN)/pytest -n 3 -m "not soak"
	TEST_STORE=postgres $(BIN)/pytest -n 2 $(ON_POSTGRES)

soak: setup
	$(BIN)/pytest -m soak -s
	TEST_STORE=postgres $(BIN)/pytest tests/integration/test_concurrency.py

bench: setup
	$(BIN)/memstrata bench

docs: setup
	$(BIN)/mkdocs build --quiet

clean:
	rm -rf $(VENV) dist build
