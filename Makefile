# Belfry's tasks. `make` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test bench profile check build generate web fmt lint fuzz clean \
	check-generated check-modules check-format vet

# Flags for `belfry dev`.
ARGS ?=
# How long each fuzz target runs: 10,000 inputs, a few seconds. A time, such as 1m, works too, but go test takes
# its end for a failure now and then (context deadline exceeded).
FUZZTIME ?= 10000x
# How often each measurement of the bench is made, and how long one under load takes.
ITERATIONS ?= 5
SECONDS_PER_ROUND ?= 5
# Further flags of the bench, such as -write bench/README.md.
BENCH ?=

# Makes sure that there is a Postgres, and tells what follows in the same recipe where.
postgres = scripts/postgres.sh && bindir=$$(scripts/postgres.sh --bindir) && \
	{ [[ -z $$bindir ]] || export PG_BINDIR="$$bindir"; }
golangci = go tool -modfile=tools/lint/go.mod golangci-lint
# Hidden folders and node_modules may hold Go files that are not ours.
gofiles = find . \( -name '.?*' -o -name node_modules \) -prune -o -name '*.go' -print0

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Serve with a private Postgres and demo data; flags in ARGS='--listen ...'
	@$(postgres) && exec bin/belfry dev $(ARGS)

test: ## Run all tests: Go's under the race detector, and with Node the official clients and a browser
	@$(postgres) && go test -race -timeout 10m ./... && scripts/node-tests.sh

bench: ## Measure, and print ratios within the run; ITERATIONS=1 is quick; flags in BENCH='-only page'
	@$(postgres) && go run ./bench -rounds $(ITERATIONS) -seconds $(SECONDS_PER_ROUND) $(BENCH)

profile: ## Profile belfry serve under load, for the compiler: cmd/belfry/default.pgo
	@$(postgres) && go run ./bench -rounds 1 -seconds 30 -profile cmd/belfry/default.pgo

check: check-generated check-modules check-format vet lint fuzz test ## Everything that CI checks, the tests among it

build: ## Build bin/belfry
	go build -o bin/belfry ./cmd/belfry

generate: ## Generate graph/ from schema.graphqls
	go run ./generate

web: ## Build the playground's bundle, web/playground/dist; takes Node
	npm --prefix web/playground ci
	npm --prefix web/playground run build

fmt: ## Format the Go files
	@$(gofiles) | xargs -0 gofmt -w

lint: ## Run golangci-lint; the first time builds it, which takes minutes
	$(golangci) run

fuzz: ## Run each fuzz target for FUZZTIME (10000x)
	@grep -Ero --include='*_test.go' --exclude-dir=node_modules '^func Fuzz\w*' . | \
	while IFS=: read -r file func; do \
		echo "fuzz $${func#func } in $$(dirname "$$file")"; \
		go test -run='^$$' -fuzz="^$${func#func }$$" -fuzztime=$(FUZZTIME) "$$(dirname "$$file")" </dev/null; \
	done

vet: ## Run go vet
	go vet ./...

check-generated: ## Fail where graph/ is not what the schema generates, and generate it
	@before=$$(mktemp -d); trap 'rm -rf "$$before"' EXIT; cp -R graph "$$before"; \
	go run ./generate; \
	diff -ru "$$before/graph" graph || { echo 'graph/ was out of date and is now generated: commit it'; exit 1; }

check-modules: ## Fail where go.mod or go.sum is not tidy or a module was altered
	go mod tidy -diff
	go mod verify

check-format: ## Fail where a Go file is not formatted
	@unformatted=$$($(gofiles) | xargs -0 gofmt -l); \
	if [[ -n $$unformatted ]]; then echo "make fmt changes:"; echo "$$unformatted"; exit 1; fi

clean: ## Remove what was built. Databases stay
	rm -rf bin
