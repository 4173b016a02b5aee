# Every target sets up what it needs: a virtual environment in .venv with the pinned packages.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup environments demo test test-long test-all test-oldest test-deep test-federated bench-deep bench-mnist bench-federated check check-extras accept intervals mutants bench bench-page papers docs clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(BIN)/pip:
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing python3-venv ..." \
		&& apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null && $(PYTHON) -m venv $(VENV); } \
		|| { echo "Python 3.11 or newer with its venv module is needed: install python3-venv."; exit 1; }

$(READY): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "installing discreet and its tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(READY)

setup: $(READY) ## install into .venv

demo: $(READY) ## from a real table to charged, noised answers and a report, explained as it goes
	@$(BIN)/discreet demo

test: $(READY) ## the tests
	@$(BIN)/python -m pytest -n 2 -m "not slow and not long" $(ARGS)

test-long: $(READY) ## what takes longer: Spark, fuzzing, weakened copies of mechanisms
	@$(BIN)/python -m pytest -n 2 -m "long and not slow" $(ARGS)

test-all: $(READY) ## the tests, with the slow ones
	@$(BIN)/python -m pytest -n 2 $(ARGS)

# What rests on the libraries whose versions move most: frames, scikit-learn, databases.
OLDEST := .venv-oldest
OLDEST_TESTS := tests/meta tests/test_schema.py tests/test_expressions.py tests/test_rational.py tests/columns \
	tests/queries tests/measures tests/engines/test_engine_types.py tests/engines/test_engine_persons.py \
	tests/models/test_naive_bayes.py tests/ledger/test_ledger_opening.py

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt | $(BIN)/pip
	@$(PYTHON) -m venv $(OLDEST)
	@echo "installing the oldest versions that are supported into $(OLDEST) ..."
	@$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt \
		-e ".[duckdb,dask,postgres,report]" hypothesis mpmath pandas polars pyarrow pytest pytest-timeout \
		pytest-xdist python-flint
	@touch $(OLDEST)/.ready

test-oldest: $(OLDEST)/.ready ## a share of the tests on the oldest versions that are supported
	@$(OLDEST)/bin/python -m pytest -n 2 -m "not slow and not long" $(OLDEST_TESTS)

# PyTorch is large, so it has an environment of its own.
DEEP := .venv-deep

$(DEEP)/.ready: pyproject.toml constraints.txt | $(BIN)/pip
	@$(PYTHON) -m venv $(DEEP)
	@echo "installing discreet with PyTorch into $(DEEP) ..."
	@$(DEEP)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e ".[torch]" hypothesis pandas polars pyarrow pytest pytest-timeout pytest-xdist
	@touch $(DEEP)/.ready

test-deep: $(DEEP)/.ready ## the tests of private deep learning, with PyTorch
	@$(DEEP)/bin/python -m pytest -n 2 -m "not slow" tests/deep tests/meta/test_package.py $(ARGS)

# Opacus, to compare with; without it the benchmark leaves those ratios out.
PEERS_DEEP := .venv-peers-deep

$(PEERS_DEEP)/.ready: pyproject.toml constraints.txt $(READY)
	@$(PYTHON) -m venv $(PEERS_DEEP)
	@echo "installing discreet with PyTorch and Opacus into $(PEERS_DEEP) ..."
	@$(PEERS_DEEP)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[torch]" pandas
	@$(PEERS_DEEP)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		opacus==1.6.0 || echo "Opacus can't be installed here."
	@touch $(PEERS_DEEP)/.ready

bench-deep: $(PEERS_DEEP)/.ready ## private training against plain training and Opacus, each line with its bar
	@$(PEERS_DEEP)/bin/python benchmarks/bench_deep.py $(ARGS)

bench-mnist: $(PEERS_DEEP)/.ready ## MNIST by DP-SGD and PATE, each line with its bar (half an hour)
	@$(PEERS_DEEP)/bin/python benchmarks/bench_deep_mnist.py $(ARGS)

bench-federated: $(DEEP)/.ready ## four hospitals: each alone, federated and pooled
	@$(DEEP)/bin/python benchmarks/bench_federated.py $(ARGS)

# Flower wants other versions of some libraries, so it has an environment and pins of its own; not part of CI.
FEDERATED := .venv-federated

$(FEDERATED)/.ready: pyproject.toml constraints-federated.txt
	@$(PYTHON) -m venv $(FEDERATED)
	@echo "installing discreet with PyTorch and Flower into $(FEDERATED) ..."
	@$(FEDERATED)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-federated.txt \
		-e ".[torch]" flwr hypothesis pandas pytest pytest-timeout
	@touch $(FEDERATED)/.ready

test-federated: $(FEDERATED)/.ready ## a server and three clients of Flower as processes on this machine (minutes)
	@$(FEDERATED)/bin/python -m pytest -W ignore::DeprecationWarning tests/deep/federated $(ARGS)

environments: $(READY) $(DEEP)/.ready $(OLDEST)/.ready ## what CI needs; with -j 3 they are installed side by side

check-extras: $(READY) ## can all extras be installed together with the pinned versions?
	@$(BIN)/python -m pip install --dry-run --quiet --disable-pip-version-check -c constraints.txt -e ".[all]"

check: $(READY) ## style, types, layers, code against the record of looks
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python tools/looks.py check

accept: $(READY) ## record a look at one dossier: NAME=... WHY="what was compared"
	@$(BIN)/python tools/looks.py accept "$(NAME)" --why "$(WHY)"

intervals: $(READY) ## what intervals for populations cover: 10 000 samples of every case, as a table (an hour)
	@$(BIN)/python -m pytest tests/queries/test_interval_coverage.py -m slow -s --timeout 0 $(ARGS)

mutants: $(READY) ## weaken every line that a guarantee rests on, and see that each copy is caught (up to an hour)
	@$(BIN)/python tests/mutations/mutation_suite.py run $(ARGS)

bench: $(READY) ## the benchmarks, each line with its bar
	@$(BIN)/python benchmarks/run.py $(ARGS)

bench-page: $(READY) ## docs/benchmarks.md, from a run beside other libraries (an hour)
	@$(BIN)/python benchmarks/page.py --setup-peers .peers $(ARGS)
	@$(BIN)/python benchmarks/page.py --peers .peers --again

papers: $(READY) ## the documents' experiments (hours; ARGS=--quick for minutes)
	@$(BIN)/discreet reproduce all $(ARGS)

docs: $(READY) ## the documentation as a site, in site/ (open site/index.html)
	@$(BIN)/python -m sphinx -q -W --keep-going -j 2 -d .doctrees -b html docs site
	@echo "site/index.html"

clean: ## remove the environment and caches
	rm -rf $(VENV) $(OLDEST) $(DEEP) $(PEERS_DEEP) $(FEDERATED) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .doctrees site docs/_made
