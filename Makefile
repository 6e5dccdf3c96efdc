# Everything that is done to this repository has its target here; .ci/run calls `make test`, `make check`, `make test/lanes`
# and `make conformance`. Only Go, git and make are needed, and npm for the tests against programs of others. Go's build cache
# decides what has to be rebuilt.

export CGO_ENABLED := 0

GO ?= go
# The same flags for every build of devserver: its 450 modules compile for minutes, once per set of flags.
DEVSERVER = GOFLAGS='-trimpath -buildvcs=false' $(GO)
# Tests that need a real server run where these are set; SWITCHYARD_BIN names the folder of the programs that they start,
# SWITCHYARD_NPM that of the programs of others that they start beside them.
NPM = SWITCHYARD_NPM='$(CURDIR)/bin/npm/bin'
# Tests on a real server mostly wait: for timeouts, restarts and each other. More of them at once take less time in all.
E2E = SWITCHYARD_E2E=1 SWITCHYARD_BIN='$(CURDIR)/bin' $(NPM) $(GO) test -count=1 -parallel 6 -timeout 10m
E2E_PACKAGES = ./internal/test/e2e ./starter/... ./audit/... ./bench
LINTERS = bin/tools
# What is misspelt on purpose stands in tests.
PROSE = $$(git grep --untracked -lI '' -- '*.go' '*.md' '*.yaml' Makefile ':!*_test.go' ':!**/testdata/**')

.DEFAULT_GOAL := help

##@ Use

.PHONY: help
help: ## Show what can be made
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make <target>" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9\/_-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: build ## Watch an agent answer questions about this repository on a real Temporal server
	bin/starter dev --worker bin/librarian --tools examples/librarian/tools --db-filename .switchyard/demo.db -- \
		run examples/librarian/agent.yaml "Which document tells how to change a workflow under running runs, and how long are the documents?"

.PHONY: dev
dev: bin/starter bin/worker bin/devserver ## Run server, Web UI and a worker until you press ctrl-c
	bin/starter dev

##@ Build

.PHONY: build
build: bin/starter bin/worker bin/librarian bin/kinds bin/devserver ## Build starter, worker, devserver and the examples' workers into bin/

.PHONY: bin/starter bin/worker bin/librarian bin/kinds bin/devserver
bin/starter:
	$(GO) build -o bin/starter ./starter

bin/worker:
	$(GO) build -o bin/worker ./worker

bin/librarian:
	$(GO) build -o bin/librarian ./examples/librarian

bin/kinds:
	$(GO) build -o bin/kinds ./examples/kinds

bin/devserver:
	$(DEVSERVER) build -C devserver -ldflags='-s -w' -o ../bin/devserver .

# What cuts workers off from the server in tests.
.PHONY: bin/toxiproxy
bin/toxiproxy:
	$(GO) build -C internal/tools -o ../../bin/toxiproxy github.com/Shopify/toxiproxy/v2/cmd/server

.PHONY: npm
npm: ## Install what tests run from npm into bin/npm: MCP servers, the MCP conformance suite, Prism
	@internal/npm/install bin/npm

# The pages' charts are committed: this is only needed to take other parts of ECharts, or a new version.
.PHONY: charts
charts: ## Bundle the charts of pages anew from npm packages
	@audit/html/echarts/build bin/charts

.PHONY: clean
clean: ## Remove what was built; databases of the demo stay in .switchyard
	rm -rf bin coverage

##@ Test

.PHONY: test
test: ## Run the tests that need Go alone: no server, no network, no C compiler
	$(if $(PROFILE),mkdir -p $(dir $(PROFILE)))
	$(GO) test $(if $(PROFILE),-coverprofile=$(PROFILE)) ./...

.PHONY: test/e2e
test/e2e: build npm ## Run the tests that need a real server
	$(E2E) $(E2E_PACKAGES)

.PHONY: test/replay
test/replay: build npm ## The end-to-end suite with the workflow cache off: every workflow task is a replay (check does so for TestHistories alone)
	SWITCHYARD_CACHE=0 $(E2E) ./internal/test/e2e

# These run by themselves: they load the machine, and measure how soon another worker takes over.
.PHONY: test/lanes
test/lanes: bin/devserver bin/toxiproxy ## Prove that lanes keep their limits while workers are killed, stopped and cut off; ONLY=TestLimitsHold proves one
	cd internal/test/lanetest && $(E2E) $(if $(ONLY),-run '$(ONLY)')

# This takes some minutes by itself, for which a build has no time.
.PHONY: test/endurance
test/endurance: bin/starter bin/worker bin/devserver ## Prove that long runs outlive killed workers, deploys and their own histories
	cd internal/test/e2e && SWITCHYARD_ENDURANCE=1 $(E2E) -parallel 1 -timeout 20m -v -run TestEndurance

.PHONY: pictures
pictures: build ## Draw the pictures of docs/lanes.md and docs/timeline.md anew, from runs on a real server; needs Chromium
	$(E2E) ./internal/test/e2e -run 'TestLanePictures|TestRunPictures' -update-pictures

# It runs a minute, and loads the machine.
.PHONY: test/dashboard
test/dashboard: build ## Prove that the rules fire and that every panel of the dashboard gives data, on a real Prometheus
	promtool check config deploy/prometheus/prometheus.yaml
	promtool test rules deploy/prometheus/switchyard.rules.test.yaml
	SWITCHYARD_PROMETHEUS=$$(command -v prometheus) $(E2E) ./internal/test/e2e -run TestDashboard

.PHONY: pictures/ui
pictures/ui: bin/starter bin/worker bin/devserver ## Draw the pictures of the Web UI in docs/pictures anew, with Chromium, and check what it shows
	internal/webui/draw docs/pictures

# Tests that run in their own folder print what they have to say also when they pass.
.PHONY: conformance
conformance: build npm ## Run the official MCP conformance suite against the orchestrator, and print its table
	cd internal/test/conformance && $(E2E)

.PHONY: test/devserver
test/devserver: ## Run devserver's own tests
	$(DEVSERVER) vet -C devserver .
	$(DEVSERVER) test -C devserver .

# What is held to its coverage; internal/covergate says to how much.
COVERED = .,./toolspecs/...,./workflows/...,./activities/...,./audit/...
# The programs that tests start are built to be measured as well: go test adds what they covered to its own profile. Tests that
# need Go alone are measured by make test, which CI has run before: UNIT names its profile then. Packages that others cover more
# than their own tests do run with them. The conformance suite and the lanes' proof are left to their own targets, the bench's
# tests to test/e2e: they measure, and nothing else may load the machine then. Tests mostly wait, so that three packages are
# tested at a time; what takes longest begins first.
.PHONY: test/coverage
test/coverage: bin/devserver npm ## Run all tests, on a real server too (its longest in short), and hold every package to its coverage
	rm -rf coverage/bin coverage/e2e.txt
	mkdir -p coverage/bin
	ln -s ../../bin/devserver coverage/bin/devserver
	$(if $(UNIT),,$(MAKE) --no-print-directory test PROFILE=coverage/unit.txt)
	$(GO) build -cover -coverpkg=$(COVERED) -o coverage/bin/ ./starter ./worker ./examples/librarian ./examples/kinds
	SWITCHYARD_BIN='$(CURDIR)/coverage/bin' $(NPM) SWITCHYARD_E2E=1 \
		$(GO) test -count=1 -vet=off -short -p 3 -parallel 6 -timeout 10m -coverpkg=$(COVERED) -coverprofile=coverage/e2e.txt \
		./internal/test/e2e ./audit/... ./starter/... ./toolspecs/lanes ./toolspecs/policies
	$(NPM) $(GO) test -count=1 -vet=off -run 'NPM|Prism|Command' -coverpkg=./internal/process -coverprofile=coverage/programs.txt ./activities
	$(GO) run ./internal/covergate $(or $(UNIT),coverage/unit.txt) coverage/e2e.txt coverage/programs.txt

.PHONY: check
check: ## Everything that must hold before a change goes in
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory test/coverage
	$(MAKE) --no-print-directory test/devserver

.PHONY: bench
bench: build ## Measure the figures that the README quotes; FIGURE=name measures one
	$(GO) run ./bench $(if $(FIGURE),--figure $(FIGURE))

##@ Style

.PHONY: fmt
fmt: ## Format all Go files
	gofmt -w .

.PHONY: lint
lint: lint/tools ## Run gofmt, go vet and the linters
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'these are not formatted: run make fmt' >&2; exit 1; }
	$(GO) vet ./...
	$(LINTERS)/gocyclo -over 9 -ignore '_test\.go$$' .
	$(LINTERS)/ineffassign ./...
	$(LINTERS)/errcheck -ignoretests -exclude internal/tools/errcheck.txt ./...
	$(LINTERS)/misspell -error $(PROSE)
	$(LINTERS)/workflowcheck -config internal/tools/workflowcheck.yaml ./workflows/...
	$(LINTERS)/staticcheck ./...

# The linters are pinned in a module of their own, so that their dependencies stay out of ours.
.PHONY: lint/tools
lint/tools:
	mkdir -p $(LINTERS)
	$(GO) build -C internal/tools -o ../../$(LINTERS)/ tool
