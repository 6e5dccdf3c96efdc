package main

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/primitives"
)

// uiPortOffset is the distance of the UI's port from the server's when none is given, as in the
// Temporal CLI.
const uiPortOffset = 1000

var logLevels = []string{"debug", "info", "warn", "error", "never"}

// settings are the validated command line.
type settings struct {
	ip           netip.Addr
	port         int // 0: a free one
	uiPort       int // 0: a free one
	metricsPort  int // 0: no metrics
	headless     bool
	dbFilename   string   // "": in memory
	namespaces   []string // at least one, without repetition; the first one is announced
	logLevel     string
	parentPID    int // 0: no parent is watched
	tuning       dynamicconfig.StaticClient
	uiPortChosen bool
	uiHosts      []string // names of this machine in requests of browsers
}

// flagValues are the flags as they were typed.
type flagValues struct {
	settings
	ipText  string
	dynamic []string
}

func newFlags(v *flagValues) *pflag.FlagSet {
	f := pflag.NewFlagSet("devserver", pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {}
	f.StringVar(&v.ipText, "ip", "127.0.0.1", "IP `address` the server and the UI listen on")
	f.IntVarP(&v.port, "port", "p", 7233, "`port` of the server (gRPC); 0 selects a free one")
	f.IntVar(&v.uiPort, "ui-port", 0,
		"`port` of the Web UI; 0 selects a free one (default: --port + 1000)")
	f.BoolVar(&v.headless, "headless", false, "no Web UI")
	f.StringSliceVar(&v.uiHosts, "ui-host", nil,
		"`name` of this machine in requests of browsers, beside localhost and its own; repeatable")
	f.StringVarP(&v.dbFilename, "db-filename", "f", "",
		"SQLite `file` that stores the runs, created with its folder if missing (default: in memory)")
	f.StringSliceVarP(&v.namespaces, "namespace", "n", []string{"default"},
		"`name` of a namespace to create; repeatable, or separated by commas")
	f.StringArrayVar(&v.dynamic, "dynamic-config-value", nil,
		"`key=value` of the server's dynamic configuration, value in JSON; overrides the tuning; repeatable")
	f.IntVar(&v.metricsPort, "metrics-port", 0,
		"`port` of the server's Prometheus metrics, path /metrics (default: none)")
	f.StringVar(&v.logLevel, "log-level", "warn", "minimum `level` of the log on standard error: "+
		strings.Join(logLevels, ", "))
	f.IntVar(&v.parentPID, "parent-pid", 0,
		"`pid` of a process; the server stops when that process exits")
	return f
}

func usage() string {
	return `devserver runs a Temporal server, its SQLite store and its Web UI in one process, for one machine.

Usage:
  devserver [flags]

Examples:
  devserver                                     in memory, on 127.0.0.1:7233, Web UI on http://127.0.0.1:8233
  devserver --db-filename .switchyard/dev.db    runs outlive a restart
  devserver --port 0 --headless                 for tests: a free port, printed on standard output
  devserver --dynamic-config-value 'history.timerProcessorMaxTimeShift="1s"'
  devserver --namespace default,staging

When the server is ready, it prints one line of JSON on standard output:
  {"address":"127.0.0.1:7233","ui":"http://127.0.0.1:8233","namespace":"default","pid":4711,"ready_ms":480}
Log lines and messages go to standard error. SIGINT and SIGTERM stop the server cleanly.

Exit codes: 0 stopped cleanly, 1 could not start, run or stop, 2 wrong flags.

Flags:
` + newFlags(&flagValues{}).FlagUsages()
}

// parseConfig parses and validates the command line. The error is pflag.ErrHelp for --help, and
// otherwise names the flag, the value and the valid values.
func parseConfig(args []string) (*settings, error) {
	var v flagValues
	flags := newFlags(&v)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: only flags are allowed", flags.Arg(0))
	}
	v.uiPortChosen = flags.Changed("ui-port")
	for _, check := range []func(*flagValues) error{
		checkIP, checkPorts, checkNamespaces, checkLogLevel, checkParent, checkDynamicConfig,
		checkUIHosts,
	} {
		if err := check(&v); err != nil {
			return nil, err
		}
	}
	return &v.settings, nil
}

func checkIP(v *flagValues) error {
	if v.ipText == "localhost" {
		v.ipText = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(v.ipText)
	if err != nil || ip.Zone() != "" {
		return fmt.Errorf("--ip %q is not an IP address: give one such as 127.0.0.1, ::1, or 0.0.0.0 for all interfaces",
			v.ipText)
	}
	v.ip = ip.Unmap()
	return nil
}

func checkPorts(v *flagValues) error {
	if !v.uiPortChosen && v.port != 0 {
		v.uiPort = v.port + uiPortOffset
	}
	if v.headless {
		v.uiPort = 0
	}
	taken := map[int]string{}
	for _, p := range []struct {
		flag string
		port int
	}{{"--port", v.port}, {"--ui-port", v.uiPort}, {"--metrics-port", v.metricsPort}} {
		if p.port < 0 || p.port > 65535 {
			return fmt.Errorf(
				"%s %d is out of range: ports go from 1 to 65535, 0 selects a free one%s", p.flag,
				p.port, uiPortHint(v, p.flag))
		}
		if other, ok := taken[p.port]; ok && p.port != 0 {
			return fmt.Errorf("%s and %s are both %d: give each its own port%s", other, p.flag,
				p.port, uiPortHint(v, p.flag))
		}
		taken[p.port] = p.flag
	}
	return nil
}

// uiPortHint explains where a default port comes from.
func uiPortHint(v *flagValues, flag string) string {
	if flag != "--ui-port" || v.uiPortChosen {
		return ""
	}
	return fmt.Sprintf(" (it defaults to --port + %d)", uiPortOffset)
}

// namespaceName matches names that need no quoting in URLs of the UI and in command lines.
var namespaceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$`)

func checkNamespaces(v *flagValues) error {
	var names []string
	for _, name := range v.namespaces {
		if !namespaceName.MatchString(name) {
			return fmt.Errorf(
				"--namespace %q: a name starts with a letter or digit and holds only those, '_', '.' and '-'",
				name)
		}
		if name == primitives.SystemLocalNamespace {
			return fmt.Errorf("--namespace %q belongs to the server itself: choose another name",
				name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("--namespace is empty: give at least one name, or leave the flag out for \"default\"")
	}
	v.namespaces = names
	return nil
}

func checkLogLevel(v *flagValues) error {
	if !slices.Contains(logLevels, v.logLevel) {
		return fmt.Errorf("--log-level %q is not one of %s", v.logLevel, strings.Join(logLevels,
			", "))
	}
	return nil
}

func checkParent(v *flagValues) error {
	if v.parentPID < 0 {
		return fmt.Errorf("--parent-pid %d is not a process id", v.parentPID)
	}
	return nil
}

func checkDynamicConfig(v *flagValues) error {
	overrides, err := parseDynamicConfig(v.dynamic)
	if err != nil {
		return err
	}
	v.tuning = tuned()
	maps.Copy(v.tuning, overrides)
	return nil
}
