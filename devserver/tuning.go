package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// A tunedValue is one value of the server's dynamic configuration that differs from its default.
type tunedValue struct {
	name  string
	value any
	// why says what the default costs, for people who read the file of settings.
	why string
}

// tunedValues returns what devserver changes, in the order of the file. Every figure was measured
// on two cores.
func tunedValues() []tunedValue {
	const (
		polls = "A shard reads its tasks at most 20 times a second by default. Each activity " +
			"then waits 50 ms twice: 100 ms instead of 5 to 7 ms."
		partitions = "Four partitions by default. Priority, fairness and rate limits then hold " +
			"per partition only, and forwarded tasks cost 25 ms instead of 6 ms."
		cancels = "Off by default. An activity then learns that its run was cancelled by its " +
			"next heartbeat; pushed to the worker it takes 3 to 6 ms."
		rates = "Rate limits that protect a shared cluster. At the speed that the values above " +
			"allow, the workers of one machine reach the defaults and stall."
	)
	return []tunedValue{
		{name: "history.transferProcessorMaxPollRPS", value: 2000, why: polls},
		{name: "history.timerProcessorMaxPollRPS", value: 2000,
			why: "The same for timeouts and retries."},
		{name: "history.visibilityProcessorMaxPollRPS", value: 2000,
			why: "The same for lists of runs."},
		{name: "history.outboundProcessorMaxPollRPS", value: 2000,
			why: "The same for commands that are pushed to workers."},
		{name: "history.timerProcessorMaxTimeShift", value: 10 * time.Millisecond,
			why: "1 s by default. Timers and retry back-offs below a second then take a whole one."},
		{name: "matching.numTaskqueueReadPartitions", value: 1, why: partitions},
		{name: "matching.numTaskqueueWritePartitions", value: 1,
			why: "The same number as for reading."},
		{name: "matching.enableFairness", value: true,
			why: "Off by default. Fairness keys are then ignored: a busy conversation delays " +
				"others."},
		{name: "frontend.WorkerCommandsEnabled", value: true, why: cancels},
		{name: "system.enableCancelActivityWorkerCommand", value: true,
			why: "The second half of pushed cancellation."},
		{name: "frontend.persistenceMaxQPS", value: 10_000, why: rates},
		{name: "history.persistenceMaxQPS", value: 45_000},
		{name: "matching.persistenceMaxQPS", value: 10_000},
		{name: "frontend.rps", value: 20_000},
		{name: "frontend.namespaceRPS", value: 20_000},
		{name: "frontend.namespaceRPS.visibility", value: 1_000},
		{name: "history.rps", value: 20_000},
		{name: "matching.rps", value: 20_000},
		{name: "frontend.namespaceCount",
			value: 50_000, why: "1,200 open polls by default. Each lane of each worker needs some; " +
				"calls of the others then wait up to a minute."},
		{name: "history.hostLevelCacheMaxSize", value: 8_096,
			why: "128,000 closed runs stay in memory by default: gigabytes on a busy server."},
		{name: "frontend.enableServerVersionCheck", value: false,
			why: "By default the server asks a host on the internet for its newest version."},
	}
}

// tuned returns the dynamic configuration of a server for one machine.
func tuned() dynamicconfig.StaticClient {
	values := dynamicconfig.StaticClient{}
	for _, s := range tunedValues() {
		values[dynamicconfig.MakeKey(s.name)] = s.value
	}
	return values
}

// dynamicConfigFile returns the settings for every server as a file for
// DYNAMIC_CONFIG_FILE_PATH.
func dynamicConfigFile() string {
	var file strings.Builder
	file.WriteString("# Dynamic configuration of a Temporal server for Switchyard. It is " +
		"generated from the table\n# of devserver: edit devserver/tuning.go, then run make " +
		"dynamicconfig.\n")
	for _, s := range tunedValues() {
		if s.why != "" {
			fmt.Fprintf(&file, "\n# %s\n", wrap(s.why))
		}
		value := s.value
		if d, ok := value.(time.Duration); ok {
			value = d.String()
		}
		fmt.Fprintf(&file, "%s:\n  - value: %v\n", s.name, value)
	}
	return file.String()
}

// wrap breaks a comment into lines of at most 98 characters after "# ".
func wrap(text string) string {
	var lines strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case width+1+len(word) > 98:
			lines.WriteString("\n# ")
			width = 0
		default:
			lines.WriteByte(' ')
			width++
		}
		lines.WriteString(word)
		width += len(word)
	}
	return lines.String()
}

// parseDynamicConfig parses values of --dynamic-config-value, "key=JSON"; the last one of a key
// counts. The error names the value and explains whether the key is unknown, the value is not JSON,
// or the server rejects it.
func parseDynamicConfig(values []string) (dynamicconfig.StaticClient, error) {
	parsed := dynamicconfig.StaticClient{}
	for _, text := range values {
		key, value, found := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" {
			return nil, fmt.Errorf(
				"--dynamic-config-value %q has no key: write key=value, for example frontend.rps=5000",
				text)
		}
		if !json.Valid([]byte(value)) {
			return nil, fmt.Errorf(
				`--dynamic-config-value %q: the value %q is not JSON: strings need double quotes, for example '%s="10ms"'`,
				text, value, key)
		}
		// The server's own reader knows all keys and types. It reads YAML, a superset of JSON. It
		// only warns about unknown keys and values of the wrong type and ignores them later, so
		// they are errors here.
		var loader dynamicconfig.YamlLoader
		loader.LoadValue(dynamicconfig.MakeKey(key), []byte(`[{"value": `+value+`}]`))
		if err := errors.Join(append(loader.Errors, loader.Warnings...)...); err != nil {
			return nil, fmt.Errorf("the server rejects --dynamic-config-value %q: %w", text,
				err)
		}
		parsed[dynamicconfig.MakeKey(key)] = loader.Map[dynamicconfig.MakeKey(key)]
	}
	return parsed, nil
}
