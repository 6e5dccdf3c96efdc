package operate

import (
	"context"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/value/display"
)

// versions reports on which version new runs start, if the workers use Worker Versioning.
func (d *doctor) versions(ctx context.Context) ([]finding, error) {
	v, err := lanestate.ReadVersions(ctx, d.client, d.namespace, d.queue)
	if err != nil {
		return nil, err
	}
	return versionFindings(v, d.queue), nil
}

// versionFindings reports versions of new runs that no worker serves, and workers that serve no
// version of new runs.
func versionFindings(v lanestate.Versions, queue string) []finding {
	var none lanestate.Version
	to := slices.DeleteFunc([]lanestate.Version{v.Current, v.Ramping},
		func(v lanestate.Version) bool { return v == none })
	if len(to)+len(v.Served) == 0 {
		return nil
	}
	if v.Current == none && !v.Unversioned && v.Percent < 100 {
		return []finding{noCurrent(v, queue)}
	}
	findings := []finding{startFinding(v)}
	for _, version := range to {
		if !slices.Contains(v.Served, version) {
			findings = append(findings, reportUnserved(version))
		}
	}
	return findings
}

// noCurrent reports that new runs wait, because their deployment has no current version.
func noCurrent(v lanestate.Versions, queue string) finding {
	remedy := "start workers without --build-id, or make a version current"
	if len(v.Served) > 0 {
		remedy = "make a version current: " + makeCurrent(v.Served[0])
	}
	return finding{markBad, "new runs on the task queue " + queue +
		" wait, because the deployment has no current version", remedy}
}

// reportUnserved reports a version of new runs without workers.
func reportUnserved(v lanestate.Version) finding {
	return finding{markBad, "no worker serves the version " + versionText(v) +
		", on which new runs start", "start one with --deployment-name " +
		display.ShellWord(v.Deployment) + " --build-id " + display.ShellWord(v.Build) +
		", or make another version current"}
}

// startFinding describes where new runs start.
func startFinding(v lanestate.Versions) finding {
	text := "new runs start on workers without a version"
	if v.Current != (lanestate.Version{}) {
		text = "new runs start on the version " + versionText(v.Current)
	}
	if v.Ramping != (lanestate.Version{}) {
		text += fmt.Sprintf(", %g %% of them on %s", v.Percent, versionText(v.Ramping))
	}
	return finding{markGood, text, ""}
}

func versionText(v lanestate.Version) string { return v.Deployment + ":" + v.Build }

func makeCurrent(v lanestate.Version) string {
	return "temporal worker deployment set-current-version --deployment-name " +
		display.ShellWord(v.Deployment) + " --build-id " + display.ShellWord(v.Build)
}
