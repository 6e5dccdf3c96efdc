package operate

import (
	"slices"
	"testing"

	"github.com/switchyard/switchyard/audit/lanestate"
)

func TestDoctor_ReportsWhereNewRunsStart(t *testing.T) {
	a, b := lanestate.Version{Deployment: "shop", Build: "a"},
		lanestate.Version{Deployment: "shop", Build: "b"}
	for _, tt := range []struct {
		name     string
		versions lanestate.Versions
		want     []finding
	}{
		{"no versioning", lanestate.Versions{Unversioned: true}, nil},
		{"one version", lanestate.Versions{Current: a, Served: []lanestate.Version{a}},
			[]finding{{markGood, "new runs start on the version shop:a", ""}}},
		{"a ramp", lanestate.Versions{Current: a, Ramping: b, Percent: 12.5,
			Served: []lanestate.Version{b, a}}, []finding{{markGood,
			"new runs start on the version shop:a, 12.5 % of them on shop:b", ""}}},
		{"none is current", lanestate.Versions{Served: []lanestate.Version{a}}, []finding{{markBad,
			"new runs on the task queue yard wait, because the deployment has no current version",
			"make a version current: temporal worker deployment set-current-version " +
				"--deployment-name shop --build-id a"}}},
		{"not the current one yet", lanestate.Versions{Unversioned: true,
			Served: []lanestate.Version{a}}, []finding{{markGood,
			"new runs start on workers without a version", ""}}},
		{"without its workers", lanestate.Versions{Current: a, Served: []lanestate.Version{b}},
			[]finding{{markGood, "new runs start on the version shop:a", ""}, {markBad,
				"no worker serves the version shop:a, on which new runs start",
				"start one with --deployment-name shop --build-id a, or make another version " +
					"current"}}},
	} {
		if got := versionFindings(tt.versions, "yard"); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
