package api

import (
	"testing"
	"time"
)

func TestHostWithin_BoundsSessionsOfLanesThatAreNotAlwaysPolled(t *testing.T) {
	for _, test := range []struct {
		tool Tool
		want time.Duration
	}{
		{Tool{Lane: "web", Instance: "mcp-server-1"}, time.Hour},
		{Tool{Lane: LaneGeneral, Instance: "mcp-server-1"}, 0},
		{Tool{Lane: "web"}, 0},
	} {
		if got := test.tool.HostWithin().Std(); got != test.want {
			t.Errorf("%+v: %s, want %s", test.tool, got, test.want)
		}
	}
}
