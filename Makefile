# All tasks of this repository. .ci/run calls the parts of `make check`, `make test/lanes`, `make test/interactions` and `make conformance`.
# Go, git and make are required, and npm for tests against third-party programs. Go's build cache decides what to rebuild.

export CGO_ENABLED := 0

GO ?= go
# One set of flags for every build of devserver: its 450 modules take minutes to compile, once per set.
DEVSERVER = GOFLAGS='-trimpath -buildvcs=false' $(GO)
# Tests that need a real server run if these variables are set. SWITCHYARD_BIN is the folder of our programs,
# SWITCHYARD_NPM that of third-party programs from npm.
NPM = SWITCHYARD_NPM='$(CURDIR)/bin/npm/bin'
# Tests on a real server mostly wait, so six of them run at once.
E2E = SWITCHYARD_E2E=1 SWITCHYARD_BIN='$(CURDIR)/bin' $(NPM) $(GO) test -count=1 -parallel 6 -timeout 30m
E2E_PACKAGES = ./internal/test/e2e ./internal/test/versioning ./internal/test/policysuite ./internal/connection ./starter/... ./audit/... ./bench
LINTERS = bin/tools
# Tests contain deliberate misspellings.
PROSE = $$(git grep --untracked -lI '' -- '*.go' '*.md' '*.yaml' Makefile ':!*_test.go' ':!**/testdata/**')

.DEFAULT_GOAL := help

##@ Use

.PHONY: help
help: ## Show all targets
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

# Cuts workers off from the server in tests.
.PHONY: bin/toxiproxy
bin/toxiproxy:
	$(GO) build -C internal/tools -o ../../bin/toxiproxy github.com/Shopify/toxiproxy/v2/cmd/server

# The MCP server of the official Go SDK whose tools the conformance suite calls.
.PHONY: bin/everything-server
bin/everything-server:
	$(GO) build -o bin/everything-server github.com/modelcontextprotocol/go-sdk/conformance/everything-server

.PHONY: npm
npm: ## Install third-party programs for tests into bin/npm: MCP servers, the MCP conformance suite, an OpenID provider, Prism
	@internal/npm/install bin/npm

.PHONY: clean
clean: ## Remove build results; the demo's databases in .switchyard stay
	if [ -x bin/compose/podman ]; then bin/compose/podman system reset --force; fi
	rm -rf bin coverage dist

# Release builds carry the version of the tag, which Go takes from git. SBOMs are derived from the binaries.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
SBOM = $(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
VULNCHECK = $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: release
release: ## Build starter and worker for all PLATFORMS into dist/, with checksums and SBOMs
	@git diff --quiet HEAD || { echo 'the release needs a commit: there are changes' >&2; exit 1; }
	rm -rf dist
	mkdir dist
	set -eu; for platform in $(PLATFORMS); do for program in starter worker; do \
		os=$${platform%/*} arch=$${platform#*/}; file=dist/$${program}_$${os}_$$arch; \
		if [ $$os = windows ]; then file=$$file.exe; fi; \
		GOOS=$$os GOARCH=$$arch $(GO) build -trimpath -buildvcs=true -ldflags='-s -w' -o $$file ./$$program; \
		$(SBOM) bin -json -output $$file.cdx.json $$file; \
	done; done
	cd dist && sha256sum * >SHA256SUMS

# The database of vulnerabilities is on the internet.
.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in the code that our programs call; needs the internet
	$(VULNCHECK) ./...
	$(VULNCHECK) -C devserver ./...

##@ Test

.PHONY: test
test: ## Run the tests that need only Go: no server, no network, no C compiler
	$(GO) test ./...

.PHONY: test/e2e
test/e2e: build npm ## Run the tests that need a real server
	$(E2E) -timeout 60m $(E2E_PACKAGES)

.PHONY: test/policies
test/policies: bin/starter bin/worker bin/devserver ## Run 69 injected and 66 benign tasks under the example policies and print what happened, by domain
	cd internal/test/policysuite && $(E2E) -v

.PHONY: test/replay
test/replay: build npm ## Run the end-to-end suite without the workflow cache: every workflow task is a replay
	SWITCHYARD_CACHE=0 $(E2E) -timeout 60m ./internal/test/e2e

# These tests load the machine and measure takeover times, so they run alone.
.PHONY: test/lanes
test/lanes: bin/devserver bin/toxiproxy ## Check that lanes keep their limits while workers are killed, stopped and cut off; ONLY=name selects tests, FAULTS=number
	cd internal/test/lanetest && $(E2E) $(if $(ONLY),-run '$(ONLY)') $(if $(FAULTS),-faults $(FAULTS))

# CI runs the first 50 faults with make test/lanes.
.PHONY: test/faults
test/faults: bin/devserver bin/toxiproxy ## Cause 1,000 random faults and compare records with ledgers; FAULTS=number, SEED=number
	cd internal/test/lanetest && $(E2E) -timeout 120m -v -run TestFaults -faults $(or $(FAULTS),1000) -seed $(or $(SEED),1)

# CI runs the first 50 scenarios. A seed is one scenario: SEED=n RUNS=1 replays it.
.PHONY: test/interactions
test/interactions: bin/starter bin/devserver ## Compose features at random under faults and compare records with a ledger; RUNS=number, SEED=number
	cd internal/test/interactions && $(E2E) -timeout 120m -v -runs $(or $(RUNS),2000) -seed $(or $(SEED),1)

# make check kills the same processes during 100 calls.
.PHONY: test/gateway
test/gateway: build ## Kill gateways, worker and server during 500 calls of MCP clients, and compare results with a journal; CALLS=number
	cd internal/test/e2e && $(E2E) -v -run 'TestGateway' -gateway-calls $(or $(CALLS),500)

# This takes several minutes and is not part of CI.
.PHONY: test/endurance
test/endurance: bin/starter bin/worker bin/devserver ## Check that long runs survive killed workers, deploys and continue-as-new
	cd internal/test/e2e && SWITCHYARD_ENDURANCE=1 $(E2E) -parallel 1 -timeout 20m -v -run TestEndurance

.PHONY: test/versioning
test/versioning: bin/devserver ## Roll out, ramp and roll back builds of workers on a real server while runs are in flight
	cd internal/test/versioning && $(E2E) -v

.PHONY: pictures
pictures: build npm ## Redraw the pictures in docs from runs on a real server; needs Chromium
	$(E2E) ./internal/test/e2e -run 'TestLanePictures|TestRunPictures|TestConsolePictures' -update-pictures

# This takes a minute and loads the machine.
.PHONY: test/dashboard
test/dashboard: build ## Check on a real Prometheus that alerts fire and every panel of the dashboard has data
	promtool check config deploy/prometheus/prometheus.yaml
	promtool test rules deploy/prometheus/switchyard.rules.test.yaml
	SWITCHYARD_PROMETHEUS=$$(command -v prometheus) $(E2E) ./internal/test/e2e -run TestDashboard

# make check has a short form of it.
.PHONY: test/console
test/console: build npm ## Use the pages of the console in Chromium: keyboard, phone, light, dark, accessibility and faults
	$(E2E) -v ./internal/test/e2e -run TestConsole_

# This takes a quarter of an hour and loads the machine.
.PHONY: test/console-sizes
test/console-sizes: build npm ## Measure the pages of the console with 10,000 runs and a run of 5,000 calls, beside the Web UI; RUNS=number
	$(E2E) -timeout 60m -v ./internal/test/e2e -run TestConsoleSizes -console-runs $(or $(RUNS),10000)

.PHONY: pictures/ui
pictures/ui: bin/starter bin/worker bin/devserver npm ## Redraw the screenshots of the Web UI in docs/pictures with Chromium, and check what it shows
	internal/webui/draw docs/pictures

# It needs Debian as root, with the packages that internal/test/compose/install names, and Chromium. The first time it builds
# images for some minutes; it keeps them in bin/compose and takes everything else down.
.PHONY: test/compose
test/compose: npm ## Start docker-compose.yml with stand-in images and try faults, upgrades and backups; prints a table
	@internal/test/compose/install bin/compose
	cd internal/test/compose && SWITCHYARD_COMPOSE='$(CURDIR)/bin/compose' $(GO) test -count=1 -timeout 60m -v

# go test prints the log of passing tests only when it runs in their folder.
.PHONY: conformance
conformance: bin/starter bin/worker bin/devserver npm bin/everything-server ## Run the official MCP conformance suite against the orchestrator and its gateway, and print its tables
	cd internal/test/conformance && $(E2E)

# The types of Kubernetes and kustomize are in a separate module, so that they stay out of ours.
.PHONY: test/kubernetes
test/kubernetes: bin/starter bin/worker ## Check manifests and the unit of systemd against Kubernetes' types and our programs
	cd internal/kubernetes && $(GO) vet . && SWITCHYARD_BIN='$(CURDIR)/bin' $(GO) test -count=1 .

.PHONY: test/devserver
test/devserver: ## Run devserver's own tests
	$(DEVSERVER) vet -C devserver .
	$(DEVSERVER) test -C devserver .

# Packages with a coverage threshold; internal/covergate has the thresholds.
COVERED = ./api,./internal/core/...,./internal/value/...,./toolspecs/...,./workflows/...,./feature/...,./activities/...,./audit/...
# Packages whose tests wait for real servers, the slowest first: packages are tested in this order.
WAITING = ./internal/test/e2e ./starter ./internal/test/policysuite ./audit ./audit/recorddb ./audit/html ./internal/test/versioning \
	./internal/connection
# The programs that tests start are built with coverage and write their data to coverage/data. Two packages are tested at a
# time, because tests mostly wait.
.PHONY: test/short
test/short: bin/devserver npm ## Run the tests on a real server in their short form
	rm -rf coverage/bin coverage/data
	mkdir -p coverage/bin coverage/data
	ln -s ../../bin/devserver coverage/bin/devserver
	$(GO) build -cover -ldflags="-s -w" -o coverage/bin/ ./starter ./worker ./examples/librarian ./examples/kinds
	SWITCHYARD_BIN='$(CURDIR)/coverage/bin' SWITCHYARD_COVERAGE='$(CURDIR)/coverage/data' $(NPM) SWITCHYARD_E2E=1 \
		$(GO) test -count=1 -vet=off -short -p 2 -parallel 4 -timeout 40m -coverpkg=$(COVERED) -coverprofile=coverage/short.txt $(WAITING)
	$(GO) tool covdata textfmt -i=coverage/data -o=coverage/started.txt

# Conformance suite, lanes, interactions and bench have targets of their own.
.PHONY: test/rest
test/rest: npm ## Run the tests that test/short leaves out, except for the suites with targets of their own
	mkdir -p coverage
	$(NPM) $(GO) test -vet=off -coverpkg=$(COVERED) -coverprofile=coverage/rest.txt \
		$$($(GO) list ./... | grep -vxF "$$($(GO) list $(WAITING))")

.PHONY: covergate
covergate: ## Check the coverage of test/short and test/rest
	$(GO) run ./internal/covergate coverage/short.txt coverage/started.txt coverage/rest.txt

.PHONY: check
check: ## Run every check that a change has to pass
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory test/rest
	$(MAKE) --no-print-directory test/short
	$(MAKE) --no-print-directory covergate
	$(MAKE) --no-print-directory test/devserver
	$(MAKE) --no-print-directory test/kubernetes

.PHONY: size
size: ## Print the lines of code of each area beside its budget
	@$(GO) run ./internal/codesize .

.PHONY: bench
bench: build ## Measure the figures of docs/dev/performance.md; FIGURE=name measures one
	$(GO) run ./bench $(if $(FIGURE),--figure $(FIGURE))

##@ Style

.PHONY: fmt
fmt: lint/tools ## Format all Go files and their imports
	$(LINTERS)/goimports -w $$(git ls-files '*.go')

.PHONY: lint
lint: lint/tools ## Run gofmt, go vet and the linters
	@unformatted=$$($(LINTERS)/goimports -l $$(git ls-files '*.go')); test -z "$$unformatted" || \
		{ echo "$$unformatted"; echo 'not formatted: run make fmt' >&2; exit 1; }
	$(GO) vet ./...
	$(LINTERS)/gocyclo -over 9 -ignore '_test\.go$$' .
	$(LINTERS)/ineffassign ./...
	$(LINTERS)/errcheck -ignoretests -exclude internal/tools/errcheck.txt ./...
	$(LINTERS)/misspell -error $(PROSE)
	$(LINTERS)/workflowcheck -config internal/tools/workflowcheck.yaml ./workflows/... ./feature \
		$(addprefix ./,$(wildcard feature/*/run)) ./api
	$(LINTERS)/staticcheck ./...

# Linters are pinned in a separate module, so that their dependencies stay out of ours.
.PHONY: lint/tools
lint/tools:
	mkdir -p $(LINTERS)
	$(GO) build -C internal/tools -o ../../$(LINTERS)/ tool
