package specfiles

import (
	"cmp"
	"encoding/json"

	"github.com/switchyard/switchyard/internal/strictyaml"
)

// findKind returns the kind of a file, or empty if it is unknown.
func findKind(path string, data []byte) string {
	docs, _ := strictyaml.Parse(path, data, MaxBytes)
	if len(docs) == 0 {
		return ""
	}
	if docs[0].IsList() {
		return KindPlan
	}
	var content json.RawMessage
	docs[0].Decode(&content)
	var top map[string]json.RawMessage
	if json.Unmarshal(content, &top) != nil {
		return ""
	}
	for _, rule := range kindsByKey {
		if _, ok := top[rule.key]; ok {
			return rule.kind
		}
	}
	return ""
}

// MaxBytes bounds a checked file, in bytes.
const MaxBytes = 16 << 20

const KindAgent = "agent"

const KindPlan = "plan"

const KindLanes = "lanes"

// KindPolicies is a file of rules, unlike the list of names in an agent under the same key.
const KindPolicies = "policies"

const KindTool = "tool"

// kindsByKey maps top-level keys to kinds of file.
var kindsByKey = []struct{ key, kind string }{
	{"entry", KindTool}, {"steps", kindScript}, {"calls", KindPlan}, {"model", KindAgent},
	{"instructions", KindAgent},
	{"servers", KindServers}, {"lanes", KindLanes}, {"buckets", KindLanes}, {"policies", KindPolicies},
	{"budgets", KindPolicies},
}

// KindServers is a file of MCP servers.
const KindServers = "servers"

const kindScript = "script"

// DetectKind returns the kind of a file. Unknown or unreadable files count as toolspecs.
func DetectKind(path string, data []byte) string { return cmp.Or(findKind(path, data), KindTool) }
