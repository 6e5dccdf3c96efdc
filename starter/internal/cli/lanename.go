package cli

import (
	"strings"

	"github.com/switchyard/switchyard/api"
)

func LaneName(lane string) string {
	if lane == "" {
		return api.LaneGeneral
	}
	return lane
}

// LaneOf returns the lane of what LaneOf tells of a queue, which may be that of a key or go past
// the lane.
func LaneOf(name string) string {
	lane, _, _ := strings.Cut(strings.TrimPrefix(name, Bypassing), "/")
	return lane
}

// Bypassing begins what LaneOf tells of a queue that goes past a lane.
var Bypassing = strings.TrimPrefix(api.BypassQueue("", ""), "/")
