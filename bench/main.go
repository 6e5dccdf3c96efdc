// Command bench measures Switchyard against hand-written workflows on one server in one run. Most
// figures are ratios, so that they can be compared between machines. It prints the table of
// docs/dev/performance.md and writes bench/results.json, an object of figure name to value. `bench
// -figure name` measures one figure and keeps the other values of the file.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
)

// figure is one measurement.
type figure struct {
	name string
	// what describes the value. limit is its maximum, or the minimum if isRate.
	what  string
	limit float64
	// group measures the figure. A group may measure several figures.
	group func(context.Context, *lab) (map[string]float64, error)
}

var figures = []figure{
	{"turn_wall_ratio", "wall time per turn, agent run ÷ hand-written workflow", 1.05,
		measureTurns},
	{"pipeline_ratio", "wall time of 100 calls in a row, plan run ÷ hand-written workflow", 1.05,
		measurePipeline},
	{"history_growth_ratio", "history bytes per turn, 400 turns ÷ 100 turns", 1.05, measureGrowth},
	{"model_step_overhead_ms", "a model step without other work, with a " +
		"conversation of 1 MB, median, ms", 5, measureStep},
	{"pipeline_memory_ratio", "memory per open run in a worker's cache, agent run ÷ " +
		"hand-written workflow", 1.25, measurePipelineMemory},
	{"load_memory_ratio", "peak of the anonymous memory of a worker that executes 200 plans at a " +
		"time ÷ hand-written workflows", 1.10, measureLoadMemory},
	{"gateway_inline_ms", "a call of an MCP client through the gateway, inline, beyond the same " +
		"call to the tool's MCP server, median, ms", 5, measureGateway},
	{"gateway_call_ms", "the same with the call as an activity, median, ms", 15, measureGateway},
	{"gateway_throughput_ratio", "calls per second of 50 MCP clients, inline through the gateway " +
		"÷ to the tool's MCP server", 0.03, measureGatewayThroughput},
	{"session_calls_per_s", "calls per second of one session, 50 at a time", 150, measureSession},
	{"policy_ms", "time that 100 policies add to a turn of 10 calls after 1,000 earlier calls, ms", 2,
		measurePolicies},
	{"ledger_calls_per_s", "calls per second of one principal, 400 at once, each counted by a " +
		"rule about earlier calls", 300, measureLedgerCalls},
	{"ledger_calls_ratio", "that ÷ the same without the rule", 0.75, measureLedgerCalls},
	{"ledger_recovery_s", "from kill -9 of a worker to the next answer of a ledger filled to its " +
		"bound, s", 5, measureLedgerRecovery},
	{"verified_calls_cpu_s", "CPU time of server and worker for 200 once calls at once whose " +
		"outcomes are verified, s", 6, measureVerified},
	{"verified_calls_ratio", "CPU time of 400 such calls ÷ that of 200", 2.3, measureVerified},
	{"limited_lane_ratio", "wall time of calls, on a lane with a limit ÷ on one without", 1.05,
		measureLimited},
	{"fanout_ratio", "wall time of 100 calls of 50 ms at once, plan run ÷ hand-written workflow",
		1.2, measureFanout},
	{"inline_wall_ratio", "wall time of 100 turns, model steps and calls inline ÷ as activities",
		0.10, measureInline},
	{"inline_throughput_ratio", "runs per second of 5 turns of 2 calls, all inline ÷ as " +
		"activities", 8, measureThroughput},
	{"open_keys_mb", "memory that 10,000 keys of a lane add to a worker, MB", 100, measureKeyed},
	{"open_keys_pollers", "long polls that a worker with 10,000 keys of a lane keeps open", 50,
		measureKeyed},
	{"keyed_takeover_s", "from kill -9 of a worker to a call with each of 1,000 keys on " +
		"another, s", 18, measureKeyed},
	{"idle_lane_requests_per_s", "requests per second to the server, 20 idle workers of 100 " +
		"lanes with a limit", 100, measureIdleLanes},
	{"idle_instance_requests_per_s", "requests per second to the server, 1,000 unused " +
		"stateful instances on a worker", 50, measureIdleInstances},
	{"resume_s", "from kill -9 of a worker with a call under way to the start of the run's next " +
		"call, s", 5, measureResume},
	{"records_per_s", "records derived per second of the histories of a run of 10,000 calls", 20_000,
		measureRecords},
	{"tool_search_recall", "share of the tools called in BFCL's live cases that are among the first " +
		"five of a search with the user's text", 0.9, measureSearch},
}

// isRate reports whether the limit of a figure is a minimum.
func isRate(name string) bool {
	return slices.Contains([]string{"inline_throughput_ratio", "records_per_s",
		"tool_search_recall", "gateway_throughput_ratio", "ledger_calls_per_s",
		"ledger_calls_ratio", "session_calls_per_s"}, name)
}

// bound returns the limit as text.
func (f figure) bound() string {
	limit := strconv.FormatFloat(f.limit, 'f', -1, 64)
	if isRate(f.name) {
		return "at least " + limit
	}
	return limit
}

// met reports whether a value is within the limit.
func (f figure) met(value float64) bool {
	if isRate(f.name) {
		return value >= f.limit
	}
	return value <= f.limit
}

func main() {
	if code, serves := runAsChild(); serves {
		os.Exit(code)
	}
	name := flag.String("figure", "", "measure only the figure of this name")
	results := flag.String("results", "bench/results.json", "file to write")
	bin := flag.String("bin", "bin", "folder with the devserver")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *name, *results, *bin); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// runAsChild runs this program as the MCP server or worker that a figure starts as a process. It
// returns the exit code and whether the arguments ask for one.
func runAsChild() (code int, serves bool) {
	switch {
	case len(os.Args) > 1 && strings.HasPrefix(os.Args[1], serveWorker):
		return serveCalls(), true
	case len(os.Args) == 3 && os.Args[1] == serveHand:
		return exitCode(serveHandWritten(os.Args[2])), true
	case len(os.Args) == 2 && os.Args[1] == serveHTTP:
		return exitCode(serveDirect()), true
	}
	return 0, false
}

// exitCode prints an error and returns the exit code for it.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	return 1
}

// run measures the figures and writes the results after each, so that one that fails or an
// interruption loses none of the others. Its error joins those of the figures that failed.
func run(ctx context.Context, name, results, bin string) error {
	chosen := slices.DeleteFunc(slices.Clone(figures), func(f figure) bool {
		return name != "" && f.name != name
	})
	if len(chosen) == 0 {
		return fmt.Errorf("unknown figure %q; use one of %s", name, strings.Join(names(), ", "))
	}
	values := map[string]float64{}
	var failed error
	for _, f := range chosen {
		if _, known := values[f.name]; known || ctx.Err() != nil {
			continue
		}
		err := measure(ctx, f, bin, values)
		if err == nil {
			err = write(results, values)
		}
		failed = errors.Join(failed, err)
	}
	print(os.Stdout, os.Stderr, chosen, values)
	return failed
}

func names() []string {
	out := make([]string, len(figures))
	for i, f := range figures {
		out[i] = f.name
	}
	return out
}

// errMissingInput is the error of a figure whose input is not part of the repository.
var errMissingInput = errors.New("its input is not there")

// measure adds the values of the figure's group. A figure whose input is missing adds none.
func measure(ctx context.Context, f figure, bin string, values map[string]float64) error {
	began := time.Now()
	l, err := newLab(ctx, bin)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	defer l.close()
	measured, err := f.group(ctx, l)
	if errors.Is(err, errMissingInput) {
		fmt.Fprintf(os.Stderr, "%s is skipped: %v\n", f.name, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	fmt.Fprintf(os.Stderr, "%s took %s\n", f.name, time.Since(began).Round(time.Second))
	maps.Copy(values, measured)
	return nil
}

// write merges the values into the results file.
func write(path string, values map[string]float64) error {
	all := map[string]float64{}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	maps.Copy(all, values)
	if data, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// print writes the values as a Markdown table, in the form of docs/dev/performance.md, and reports
// the missed limits.
func print(out, complaints io.Writer, chosen []figure, values map[string]float64) {
	fmt.Fprintln(out, "| figure | measured | limit |\n| --- | --- | --- |")
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(f figure) bool {
		_, measured := values[f.name]
		return !measured
	})
	for _, f := range chosen {
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", f.name, short(values[f.name]), f.bound())
	}
	for _, f := range chosen {
		if !f.met(values[f.name]) {
			fmt.Fprintf(complaints, "MISSED %s: %s, limit %s (%s)\n", f.name, short(values[f.name]),
				f.bound(), f.what)
		}
	}
}

// short returns a number with three significant digits, without an exponent.
func short(value float64) string {
	digits := max(0, 2-int(math.Floor(math.Log10(max(math.Abs(value), 0.01)))))
	return strconv.FormatFloat(value, 'f', digits, 64)
}
