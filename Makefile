# Everything that these targets install goes below .tools/. See docs/development.md.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# In `make soak`: the history check's size and the time that it may take, and how
# often the embedded store is killed.
SOAK_OPS ?= 1000000
SOAK_TIMEOUT ?= 60m
SOAK_KILLS ?= 200

.PHONY: help build run test test-unit test-integration lint soak bench tools

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 26

build: ## bin/kasoku
	go build -trimpath -o bin/kasoku ./cmd/kasoku

run: ## a DynamoDB-compatible store of your own on 127.0.0.1:8000; ctrl-C ends it
	@scripts/run.sh

test: lint test-unit test-integration ## all checks and tests

lint: ## gofmt, go vet, staticcheck, in both modules
	@scripts/setup-go.sh
	@scripts/lint.sh

test-unit:
	@scripts/setup-go.sh
	go test -race ./...

test-integration: tools
	cd integration && go test -count=1 -timeout 12m ./...

soak: tools ## the history check with SOAK_OPS (1,000,000) operations, and SOAK_KILLS (200) kills of the embedded store
	KASOKU_KILLS=$(SOAK_KILLS) go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestKill$$' ./internal/dynamo/embedded
	cd integration && KASOKU_HISTORY_OPS=$(SOAK_OPS) go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestHistory' ./history

bench: tools ## compare with DynamoDB Local and other proxies; prints one table
	@bench/run.sh

tools: ## install what the tests need below .tools/
	@scripts/setup-go.sh
	@scripts/setup-dynamodb-local.sh
	@scripts/setup-python.sh
	@scripts/setup-node.sh
