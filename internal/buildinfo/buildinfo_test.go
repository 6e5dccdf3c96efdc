package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestOf_PrefersTheLinkedVersion(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.time", Value: "2026-11-22T10:00:00Z"}, {Key: "vcs.modified", Value: "true"}}
	for name, test := range map[string]struct {
		build  debug.BuildInfo
		linked string
		want   string
	}{
		"tagged": {debug.BuildInfo{GoVersion: "go1.26.0",
			Main: debug.Module{Path: module, Version: "v1.2.0"}}, "", "v1.2.0, go1.26.0"},
		"without version control": {debug.BuildInfo{GoVersion: "go1.26.0",
			Main: debug.Module{Path: module}}, "", "(devel), go1.26.0"},
		"with a linked version": {debug.BuildInfo{GoVersion: "go1.26.0",
			Main: debug.Module{Path: module, Version: "(devel)"}}, "v1.3.0", "v1.3.0, go1.26.0"},
		"modified": {debug.BuildInfo{GoVersion: "go1.26.0",
			Main: debug.Module{Path: module, Version: "(devel)"}, Settings: commit}, "",
			"(devel) (commit 0123456789ab of 2026-11-22T10:00:00Z, modified), go1.26.0"},
		"in an application": {debug.BuildInfo{GoVersion: "go1.26.0",
			Main: debug.Module{Path: "example.org/app", Version: "v9.0.0"},
			Deps: []*debug.Module{{Path: "example.org/other", Version: "v3.0.0"},
				{Path: module, Version: "v1.2.0"}}}, "v9.0.0", "v1.2.0, go1.26.0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := of(&test.build, test.linked).String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
