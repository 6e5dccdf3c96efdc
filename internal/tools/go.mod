module github.com/switchyard/switchyard/internal/tools

go 1.26.0

tool (
	// Network failures between workers and server in tests: a proxy for any client and server that
	// can drop data without closing the connection.
	github.com/Shopify/toxiproxy/v2/cmd/server
	// Common misspellings in code and prose: no false positives on names.
	github.com/client9/misspell/cmd/misspell
	// Cyclomatic complexity under 10: counts complexity and nothing else.
	github.com/fzipp/gocyclo/cmd/gocyclo
	// Ineffectual assignments: takes a second.
	github.com/gordonklaus/ineffassign
	// Unchecked errors: go vet and staticcheck do not report them.
	github.com/kisielk/errcheck
	// Non-determinism in workflows: clocks, goroutines, map order: the SDK's own.
	go.temporal.io/sdk/contrib/tools/workflowcheck
	// Goimports: formatting and order of imports: the Go team's own.
	golang.org/x/tools/cmd/goimports
	// Staticcheck: bugs, dead code, style: the deepest checks, without configuration.
	honnef.co/go/tools/cmd/staticcheck
)

require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	github.com/Shopify/toxiproxy/v2 v2.5.0 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.1.2 // indirect
	github.com/client9/misspell v0.3.4 // indirect
	github.com/fzipp/gocyclo v0.6.0 // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/gordonklaus/ineffassign v0.2.0 // indirect
	github.com/gorilla/mux v1.8.0 // indirect
	github.com/kisielk/errcheck v1.30.0 // indirect
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.16 // indirect
	github.com/matttproud/golang_protobuf_extensions v1.0.1 // indirect
	github.com/prometheus/client_golang v1.13.0 // indirect
	github.com/prometheus/client_model v0.2.0 // indirect
	github.com/prometheus/common v0.37.0 // indirect
	github.com/prometheus/procfs v0.8.0 // indirect
	github.com/rs/xid v1.4.0 // indirect
	github.com/rs/zerolog v1.28.0 // indirect
	go.temporal.io/sdk/contrib/tools/workflowcheck v0.6.0 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/telemetry v0.0.0-20260924152758-ed294f943157 // indirect
	golang.org/x/tools v0.51.0 // indirect
	google.golang.org/protobuf v1.28.1 // indirect
	gopkg.in/tomb.v1 v1.0.0-20141024135613-dd632973f1e7 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
	honnef.co/go/tools v0.8.2 // indirect
)
