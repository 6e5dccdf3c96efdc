package cli

import (
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
)

func LaneName(lane string) string {
	if lane == "" {
		return api.LaneGeneral
	}
	return lane
}

// LaneFromName returns the lane of a displayed queue name. The name may include a key or the bypass
// prefix.
func LaneFromName(name string) string {
	lane, _, _ := strings.Cut(strings.TrimPrefix(name, Bypassing), "/")
	return lane
}

// Bypassing is the prefix of names of bypass queues.
var Bypassing = strings.TrimPrefix(queues.Bypass("", ""), "/")
