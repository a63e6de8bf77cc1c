# These targets install everything below .tools/. See docs/development.md.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Simulated runs of a cluster in `make test`.
SIMULATIONS ?= 100000

# Extent of `make soak`: operations of the history check, and of that of clusters, the time limit of each check,
# kills of the embedded store and damages of its files, seeds for its comparison with
# DynamoDB Local, examples for each property test, random configurations, records posted to
# a faulty Fluentd server, restarts of CouchDB nodes that replicate, rounds of faults of
# CouchDB-like nodes, values read from faulty memcached servers (six times), simulated runs of
# a cluster, simulated runs without each of its rules, random behaviours of each model of its
# specification, traces that it has to accept, and the time for fuzzing each parser of DAX requests and of cluster messages.
SOAK_OPS ?= 1000000
SOAK_CLUSTER_OPS ?= 1000000
SOAK_TIMEOUT ?= 60m
SOAK_KILLS ?= 200
SOAK_DAMAGES ?= 10000
SOAK_SEEDS ?= 1001-1400
SOAK_CHECKS ?= 2000
SOAK_CONFIGS ?= 20
SOAK_RECORDS ?= 10000000
SOAK_RESTARTS ?= 100
SOAK_ROUNDS ?= 20
SOAK_GETS ?= 5000000
SOAK_CLUSTERS ?= 10000000
SOAK_MUTANTS ?= 200000
SOAK_FUZZ ?= 1h
SOAK_BEHAVIOURS ?= 20000
SOAK_TRACES ?= 500
SOAK_STREAMS ?= 3m
SOAK_STREAM_SEEDS ?= 10000

.PHONY: help build release run check test test-unit test-integration lint vuln spec soak bench tools fetch

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 26

build: ## build bin/kasoku
	go build -trimpath -o bin/kasoku ./cmd/kasoku

release: ## build the files that users download, in dist/, for all systems: ten minutes, or one if nothing has changed
	rm -rf dist
	cd scripts/release && GOFLAGS= go run .

run: ## run a DynamoDB-compatible store on 127.0.0.1:8000; ctrl-C ends it
	@scripts/run.sh

check: ## formatting, vet, staticcheck and the unit tests without the race detector: about two minutes
	@$(MAKE) --no-print-directory lint
	RAPID_SEED=1 go test -vet=off work
	cd scripts/release && go test -vet=off ./...

# The tools for the integration tests are fetched while the unit tests run. Nothing else runs beside
# tests: some are only right if they get CPU time soon.
test: ## all checks and tests
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory vuln
	@$(MAKE) --no-print-directory -j2 test-unit fetch
	@$(MAKE) --no-print-directory test-integration

# fetch runs tools beside another target: it prints their output when they are done.
fetch:
	@mkdir -p .tools
	@$(MAKE) --no-print-directory tools >.tools/log 2>&1 || { cat .tools/log; exit 1; }
	@cat .tools/log

lint: ## gofmt, go vet, staticcheck in all modules, and whether they compile on other systems
	@scripts/setup-go.sh
	@scripts/lint.sh

vuln: ## known vulnerabilities of the dependencies, if their database can be reached
	@scripts/vuln.sh

spec: ## check the specification of the cluster with TLC: the small models, and traces of simulated clusters
	@specs/check.sh spec
	@specs/trace-test.sh
	@specs/trace-runs.sh

# Property tests use the same examples in every run, so that a failure is due to a change.
# With the race detector each program exits after 50 ms instead of a second. Without it run:
# packages without goroutines; the rules of the repository; allocations, which it adds to; tests
# that are slow with it; and the simulation, in which it finds nothing. The rules of the cluster are
# turned off one by one in a build of its own. go vet runs in lint. Three packages are tested at once
# on two CPUs, because many wait.
test-unit:
	@scripts/setup-go.sh
	RAPID_SEED=1 RAPID_CHECKS=30 GORACE=atexit_sleep_ms=50 go test -p 3 -vet=off -race $$(scripts/goroutines.sh)
	RAPID_SEED=1 go test -vet=off ./internal/repo $$(scripts/goroutines.sh -none)
	RAPID_SEED=1 scripts/allocs.sh
	RAPID_SEED=1 scripts/libraries.sh
	go test -vet=off ./internal/cluster/protocol -seeds $(SIMULATIONS)
	go test -vet=off -tags kasokumutant -run '^TestMutants$$' ./internal/cluster/protocol
	cd scripts/release && go test -vet=off ./...

# All packages use one build of Kasoku. The one that waits the most is started first, and three are
# tested at once. The one that measures memory runs alone: a garbage collector that gets too little
# CPU time beside other tests exceeds the limit on the heap.
test-integration: tools
	go build -race -ldflags '-s -w' -o bin/kasoku-race ./cmd/kasoku
	cd integration && KASOKU_RACE=$(CURDIR)/bin/kasoku-race go test -p 3 -vet=off -count=1 -timeout 12m ./cluster $$(go list ./... | grep -vE '/(cluster|memory)$$')
	cd integration && go test -vet=off -count=1 -timeout 12m ./memory

soak: tools ## the history check with SOAK_OPS (1,000,000) operations, that of clusters with SOAK_CLUSTER_OPS (1,000,000), SOAK_KILLS (200) kills of the embedded store and SOAK_DAMAGES (10,000) damages of its files, its comparison in SOAK_SEEDS (1001-1400), SOAK_RECORDS (10,000,000) records to a faulty Fluentd, SOAK_RESTARTS (100) restarts of CouchDB nodes, SOAK_ROUNDS (20) rounds of their faults, SOAK_GETS (5,000,000) values of faulty memcached servers, SOAK_CLUSTERS (10,000,000) simulated clusters, SOAK_MUTANTS (200,000) without each rule, new examples for the property tests, the large models of the cluster's specification with SOAK_BEHAVIOURS (20,000) random behaviours, SOAK_TRACES (500) traces of simulated clusters, SOAK_STREAMS (3m) for each check of followed streams and SOAK_STREAM_SEEDS (10,000) simulated ones, and SOAK_FUZZ (1h) of fuzzing for each parser of the DAX listener and of cluster messages
	KASOKU_KILLS=$(SOAK_KILLS) go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestKill$$' ./internal/dynamo/embedded
	KASOKU_DAMAGES=$(SOAK_DAMAGES) go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestDamagedFiles$$' ./internal/dynamo/embedded
	cd integration && KASOKU_HISTORY_OPS=$(SOAK_OPS) go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestHistory' ./history
	cd integration && KASOKU_CLUSTER_OPS=$(SOAK_CLUSTER_OPS) KASOKU_SEED=random go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestStorm' ./cluster
	go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestSimulation$$' ./internal/dynamo/streams -seeds $(SOAK_STREAM_SEEDS)
	cd integration && KASOKU_STREAMS_FOR=$(SOAK_STREAMS) go test -v -count=1 -timeout $(SOAK_TIMEOUT) ./streams
	RAPID_CHECKS=$(SOAK_CHECKS) go test -count=1 -timeout $(SOAK_TIMEOUT) ./internal/cache ./internal/dynamo/... ./internal/couch/... ./internal/httpcache/... ./internal/origin/... ./fluent/...
	KASOKU_FLUENT_RECORDS=$(SOAK_RECORDS) go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestNothingIsMissingAfterFaults$$' ./fluent
	KASOKU_MEMCACHED_GETS=$(SOAK_GETS) go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestValuesAreNotMixed$$' ./internal/memcached/client
	cd integration && KASOKU_SEED=random go test -count=$(SOAK_CONFIGS) -timeout $(SOAK_TIMEOUT) -run '^TestSameAnswers$$' ./configs
	cd integration && KASOKU_RESTARTS=$(SOAK_RESTARTS) KASOKU_SEED=random go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestReplicationThroughRestarts$$' ./couch
	cd integration && KASOKU_SEED=$(SOAK_SEEDS) go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestEmbedded$$' ./differential
	cd integration && KASOKU_COUCH_ROUNDS=$(SOAK_ROUNDS) go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestHistory' ./couch/history
	cd integration && KASOKU_BLOG=full KASOKU_RESTARTS=10 go test -v -count=1 -timeout $(SOAK_TIMEOUT) ./couch/service
	cd integration && KASOKU_BLOG=full go test -v -count=1 -timeout $(SOAK_TIMEOUT) -run '^TestWalkThrough$$' ./memcached
	cd integration && KASOKU_COUCH_STEPS=10000 go test -count=1 -timeout $(SOAK_TIMEOUT) ./couch/compare
	LIMIT=7200 BEHAVIOURS=$(SOAK_BEHAVIOURS) specs/check.sh soak
	specs/trace-runs.sh 1000 $(SOAK_TRACES) $$(($(SOAK_TRACES) / 5))
	specs/trace-storm.sh
	go test -v -count=1 -timeout 12h -run '^TestSimulation$$' ./internal/cluster/protocol -seeds $(SOAK_CLUSTERS)
	go test -v -count=1 -timeout 12h -tags kasokumutant -run '^TestMutants$$' ./internal/cluster/protocol -every -mutantseeds $(SOAK_MUTANTS)
	scripts/fuzz.sh $(SOAK_FUZZ) ./internal/dynamo/dax/... ./internal/cluster/protocol

bench: tools ## compare with DynamoDB Local and other proxies; prints one table
	@bench/run.sh

tools: ## install what the tests need below .tools/
	@scripts/setup-go.sh
	@scripts/setup-dynamodb-local.sh
	@scripts/setup-python.sh
	@scripts/setup-node.sh
	@scripts/setup-couch.sh
	@scripts/setup-ab.sh
	@scripts/setup-memcached.sh
	@scripts/setup-dax.sh
	@scripts/setup-peers.sh
	@scripts/setup-prometheus.sh
	@scripts/setup-chromium.sh
