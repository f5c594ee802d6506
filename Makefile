# What can be done here; "make help" lists it. Only Go and gcc are needed.

GO          ?= go
PACKAGES    := ./...
# the packages whose tests take longest: they begin first, so that none of them is left to run alone at the end
LONGEST     := ./engine ./internal/clienttest ./engine/enginetest ./cmd/csmsql ./bench ./exec/duckdb ./internal/abusetest
BINARY      := bin/csmsql
DEMO_SF     ?= 0.1
CLUSTER_SF  ?= 1
FUZZ_TIME   ?= 30s
EFFORT      ?= 20
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0

.PHONY: help build test race abuse mutations lint fuzz nightly demo demo-cluster bench generate

help: ## list the targets (the default)
	@echo "make TARGET, where TARGET is one of"
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

build: ## build the program as bin/csmsql
	@echo "build: $(BINARY) (the first build downloads and links DuckDB: some minutes)"
	@mkdir -p $(dir $(BINARY))
	$(GO) build -o $(BINARY) ./cmd/csmsql

test: ## vet, and run all tests with invariant checks
	@echo "test: go vet"
	$(GO) vet $(PACKAGES)
	@echo "test: all packages, invariant checks on"
	$(GO) test -timeout 60m -tags invariants $(if $(filter ./...,$(PACKAGES)),$(LONGEST)) $(PACKAGES)

race: ## run all tests under the race detector
	@echo "race: all packages under the race detector (some minutes)"
	$(GO) test -race -timeout 60m -tags invariants $(PACKAGES)

abuse: ## all attacks on a node's memory, for CSMSQL_ABUSE (10m), in a control group of what its help asks for (takes root)
	@echo "abuse: every attack by itself, and all at once"
	@CSMSQL_ABUSE=$${CSMSQL_ABUSE:-10m} CSMSQL_CGROUPS=required $(GO) test -count=1 -timeout 180m -v -tags invariants ./internal/abusetest

mutations: ## mutate every step of the coherence protocol in turn: the model and 50 x EFFORT (20) schedules must each see it
	@echo "mutations: the model's and the emulated memory's verdicts (docs/coherence.md)"
	@CSMSQL_EFFORT=$(EFFORT) $(GO) test -count=1 -timeout 60m -v -run '^TestMutationTable$$' ./coherence

lint: ## gofmt, vet and staticcheck
	@echo "lint: gofmt"
	@unformatted="$$(gofmt -l .)"; if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w them):"; echo "$$unformatted"; exit 1; fi
	@echo "lint: go vet, with and without invariant checks"
	$(GO) vet $(PACKAGES)
	$(GO) vet -tags invariants $(PACKAGES)
	@echo "lint: staticcheck"
	$(GO) run $(STATICCHECK) $(PACKAGES)

fuzz: ## run every fuzz target, each for FUZZ_TIME (30s)
	@GO="$(GO)" FUZZ_TIME="$(FUZZ_TIME)" .ci/fuzz $(PACKAGES)

nightly: ## what takes too long for every change: soak, faults, abuse, random SQL, mutations, differential, surface, oracles, expressions, anomalies, effort, mutants, sources, unchecked, emulated fabrics, race, fuzz
	@GO="$(GO)" .ci/nightly $(STEPS)

demo: build ## build, serve, load TPC-H at scale factor DEMO_SF (0.1), run its 22 queries over the PostgreSQL protocol, check the answers
	@cmd/csmsql/demo.sh $(BINARY) $(DEMO_SF)

demo-cluster: build ## three nodes with TPC-H at scale factor CLUSTER_SF (1) spread over their memory, the 22 queries through each; one is killed and comes back
	@cmd/csmsql/demo-cluster.sh $(BINARY) $(CLUSTER_SF)

bench: build ## run the benchmarks, each against its peer
	@echo "bench: every figure against its peer, answers checked first"
	$(BINARY) bench

generate: ## regenerate generated code
	@echo "generate: go generate"
	$(GO) generate $(PACKAGES)
