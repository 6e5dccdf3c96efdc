module github.com/switchyard/switchyard

go 1.26.0

require (
	// The expressions of policies: the reference implementation (formerly github.com/google/cel-go);
	// typed, always terminates, errors have positions; adds 10 s to a build with an empty cache.
	cel.dev/cel-go v0.33.2
	// The live view of a run on a terminal: redraws only what changed, restores the terminal after a
	// panic or a signal.
	charm.land/bubbletea/v2 v2.0.9
	// Colours, if the terminal supports them: bubbletea's companion.
	charm.land/lipgloss/v2 v2.0.6
	// Anthropic's messages: Anthropic's own SDK, generated from its API description.
	github.com/anthropics/anthropic-sdk-go v1.84.0
	// The width of text with colours and wide characters: bubbletea measures with it, so lines are
	// cut at the same column.
	github.com/charmbracelet/x/ansi v0.11.8
	// Whether an output is a terminal, and its width: comes with bubbletea.
	github.com/charmbracelet/x/term v0.2.2
	// Switches off the echo of keys during the live view: comes with bubbletea.
	github.com/charmbracelet/x/termios v0.1.1
	// Checks of signed tokens in the gateway: issuer, expiry and algorithms as OpenID Connect
	// requires; widely used, with one dependency.
	github.com/coreos/go-oidc/v3 v3.21.0
	// Notifications of the file system when toolspecs and lanes.yaml change: the common choice;
	// polling finds what it misses.
	github.com/fsnotify/fsnotify v1.10.1
	// Keys of issuers and signatures of tokens: comes with go-oidc, whose own set of keys never
	// forgets a withdrawn key and asks the issuer for each forged token.
	github.com/go-jose/go-jose/v4 v4.1.9
	// JSON with the order of keys, every digit of numbers and the place of a fault; repeated keys and
	// invalid UTF-8 are errors: the design of encoding/json's next version, by its authors.
	github.com/go-json-experiment/json v1.27.2
	// Locks of files across processes: the common choice; the same on Unix and Windows, and ends with
	// the process.
	github.com/gofrs/flock v0.13.2
	// JSON Schemas of function tools, from their Go types, and of the files that people write: the
	// MCP SDK uses it too. It validates too, but reports the first fault alone.
	github.com/google/jsonschema-go v0.4.3
	// The stream of records in PostgreSQL: maintained, with a reading of PG* variables and
	// connection strings as libpq; `lib/pq` recommends it; through database/sql a batch would take a
	// round trip for each row.
	github.com/jackc/pgx/v5 v5.10.0
	// Extraction of a part of a REST tool's response: maintained by the JMESPath community, the
	// newer of two in Go; Switchyard recovers from its panics on unusual expressions.
	github.com/jmespath-community/go-jmespath v1.1.1
	// Zstd compression of payloads: the standard library has no zstd; pure Go, no dependencies.
	github.com/klauspost/compress v1.20.3
	// An HTTP server with every status, redirect, encoding and delay, in tests: runs inside the
	// test; the API of httpbin.org.
	github.com/mccutchen/go-httpbin/v2 v2.26.0
	// Payloads in S3 buckets: supports profiles, web identity and IAM roles; adds 3 MB to a program,
	// AWS's own SDK 6 MB; Temporal's S3 driver is experimental and requires AWS's SDK and its own
	// key scheme.
	github.com/minio/minio-go/v7 v7.4.1
	// Client of MCP servers, server of the gateway; its conformance server has the tools that the
	// suite calls: the official SDK; client and server pass the conformance suite.
	github.com/modelcontextprotocol/go-sdk v1.8.0
	// OpenAI-compatible chat completions: OpenAI's own SDK, generated from its API description.
	github.com/openai/openai-go/v3 v3.95.0
	// Registries in TOML: reports line and column of unknown keys; no dependencies.
	github.com/pelletier/go-toml/v2 v2.4.3
	// Metrics on /metrics: the format's reference implementation.
	github.com/prometheus/client_golang v1.25.0
	// An S3 server in tests: runs inside the test and checks signatures independently of our code.
	github.com/rclone/gofakes3 v0.0.12
	// Testscript: tests of the command line as script files: the Go command's own tests use it.
	github.com/rogpeppe/go-internal v1.16.0
	// Validation of arguments, outputs and files against JSON Schema: passes every required test of
	// drafts 2020-12 and 07; reports every fault with its path.
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	// Starter's commands, help and completion: the Temporal CLI uses it: names, help and flags
	// behave alike.
	github.com/spf13/cobra v1.10.2
	// Flags of starter, worker and devserver: part of cobra; long and short forms as in the Temporal CLI.
	github.com/spf13/pflag v1.0.10
	// JSON with comments and trailing commas, as clients of MCP servers write their settings: keeps
	// positions; no dependencies.
	github.com/tailscale/hujson v0.0.0-20260727124030-b80ff77dac4f
	// Counting tokens: vocabularies are compiled in; no download at run time.
	github.com/tiktoken-go/tokenizer v0.10.0
	// Addresses of resources with variables: the MCP SDK matches them with it.
	github.com/yosida95/uritemplate/v3 v3.0.2
	// The interface of the client below.
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.47.0
	// Sending traces to a collector, with retries: OpenTelemetry's own; its SDK creates spans of
	// running code, while ours are derived from histories and have ids made from those of runs and
	// calls.
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.47.0
	// The wire format of traces: OpenTelemetry's own, as the sender takes it.
	go.opentelemetry.io/proto/otlp v1.11.0
	// Types of histories and of server responses: comes with the SDK; `audit` reads histories with
	// it.
	go.temporal.io/api v1.63.5
	// Workflows, activities, client, worker: Switchyard is built on it.
	go.temporal.io/sdk v1.50.0
	// Profiles, TLS and API keys from files and TEMPORAL_* variables: compatible with the
	// configuration of the Temporal CLI.
	go.temporal.io/sdk/contrib/envconfig v1.0.2
	// Tokens of MCP servers that require a login, and their refresh; the login to the console: the
	// MCP SDK's logins are built on it.
	golang.org/x/oauth2 v0.37.0
	// Readings that several requests share, in the console and of keys of issuers: the Go project's
	// singleflight.
	golang.org/x/sync v0.23.0
	// Process groups and memory limits: the syscall package of the standard library is frozen and
	// lacks them.
	golang.org/x/sys v0.49.0
	// Unicode forms, for finding where a value of an argument came from, and charsets of responses:
	// the Go project's tables.
	golang.org/x/text v0.42.0
	// The rate of requests of a principal: the Go project's token bucket.
	golang.org/x/time v0.15.0
	// Status codes that distinguish an unreachable server from a denied request; reports that are
	// repeated during an outage: the SDK's own transport.
	google.golang.org/grpc v1.83.2
	// Timestamps in histories, options of activities, answers to updates: comes with the API.
	google.golang.org/protobuf v1.36.12
	// YAML into nodes with line and column: strict decoding needs positions; rejects alias bombs and
	// deep nesting within milliseconds.
	gopkg.in/yaml.v3 v3.0.1
	// Property tests: shrinks failing cases automatically; no dependencies.
	pgregory.net/rapid v1.3.0
)

require (
	cel.dev/expr v0.25.2 // indirect
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/antlr4-go/antlr/v4 v4.13.1 // indirect
	github.com/bahlo/generic-list-go v0.2.0 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/buger/jsonparser v1.1.2 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/charmbracelet/colorprofile v0.4.3 // indirect
	github.com/charmbracelet/ultraviolet v0.0.0-20260811164956-006e29f97886 // indirect
	github.com/charmbracelet/x/windows v0.2.2 // indirect
	github.com/clipperhouse/displaywidth v0.11.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	// The shipped tool calculator: arithmetic with a bounded cost and typed errors with positions; CEL
	// has neither a power operator nor arithmetic over integers and fractions.
	github.com/expr-lang/expr v1.17.8
	github.com/facebookgo/clock v0.0.0-20150410010913-600d898af40a // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/mock v1.6.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/grpc-ecosystem/go-grpc-middleware/v2 v2.3.2 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.30.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/invopop/jsonschema v0.14.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/klauspost/cpuid/v2 v2.4.0 // indirect
	github.com/klauspost/crc32 v1.3.0 // indirect
	github.com/lucasb-eyer/go-colorful v1.4.1 // indirect
	github.com/mattn/go-runewidth v0.0.24 // indirect
	github.com/minio/crc64nvme v1.1.1 // indirect
	github.com/minio/md5-simd v1.1.2 // indirect
	github.com/minio/xxml v0.0.3 // indirect
	github.com/muesli/cancelreader v0.2.2 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/nexus-rpc/nexus-proto-annotations v0.1.0 // indirect
	github.com/nexus-rpc/sdk-go v0.7.0 // indirect
	github.com/pb33f/ordered-map/v2 v2.3.1 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/robfig/cron v1.2.0 // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/ryszard/goskiplist v0.0.0-20150312221310-2dfbae5fcf46 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/shabbyrobe/gocovmerge v0.0.0-20230507112040-c3350d9342df // indirect
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1 // indirect
	github.com/stretchr/objx v0.5.3 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/xo/terminfo v1.0.0 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	go.yaml.in/yaml/v4 v4.0.0-rc.2 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/exp v0.0.0-20240823005443-9b4947da3948 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/tools v0.50.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
	gopkg.in/ini.v1 v1.67.3 // indirect
)

require (
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/sdk v1.47.0 // indirect
)
