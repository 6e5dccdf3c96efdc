package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// tuned returns the dynamic configuration of a server for one machine. Every figure was measured on
// two cores.
func tuned() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// One shard is read at most 20 times a second by default, so every activity waits 50 ms
		// twice: 100 ms each, 5 to 7 ms with these. The timer queue serves time-outs and retries,
		// visibility the lists, outbound the commands that are pushed to workers.
		dynamicconfig.TransferProcessorMaxPollRPS.Key():   2000,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():      2000,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): 2000,
		dynamicconfig.OutboundProcessorMaxPollRPS.Key():   2000,
		// The default of 1 s makes every timer and retry back-off under a second take a whole one.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,
		// Four partitions by default: priority, fairness and rate limits then hold per partition
		// only, and tasks that are forwarded between partitions cost 25 ms instead of 6.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// Off by default: fairness keys and weights are silently ignored, so one busy conversation
		// starves the others.
		dynamicconfig.MatchingEnableFairness.Key(): true,
		// Off by default: an activity learns that its run was cancelled or terminated only by its
		// next heartbeat (0.2 to 2.7 s later), and never without one; pushed to the worker it takes
		// 3 to 6 ms.
		dynamicconfig.WorkerCommandsEnabled.Key():             true,
		dynamicconfig.EnableCancelActivityWorkerCommand.Key(): true,
		// Off by default: the server rejects pausing, so a pause would have no identity and reason
		// in the history.
		dynamicconfig.WorkflowPauseEnabled.Key(): true,

		// By default search attributes are cached: one that was just added is refused for up to a
		// minute.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
		// Rate limits that protect a shared cluster. At the speed the values above allow, one
		// machine's workers reach the defaults (2,000 to 9,000 store calls, 1,200 to 3,000
		// requests, 10 list calls a second) and stall.
		dynamicconfig.FrontendPersistenceMaxQPS.Key():                    10_000,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():                     45_000,
		dynamicconfig.MatchingPersistenceMaxQPS.Key():                    10_000,
		dynamicconfig.FrontendRPS.Key():                                  20_000,
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():           20_000,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 1_000,
		dynamicconfig.HistoryRPS.Key():                                   20_000,
		dynamicconfig.MatchingRPS.Key():                                  20_000,
		// 1,200 polls at a time by default. Every open key of a keyed lane is one: the calls of
		// those beyond wait until another poll ends, up to a minute.
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key(): 50_000,
		// By default up to 128,000 closed runs stay in memory: gigabytes after a long benchmark.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 8_096,
		// By default the server asks a host on the internet for news of its version; this one needs
		// no network.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
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
