// Package buildinfo says from which source a program was built.
package buildinfo

import (
	"cmp"
	"runtime/debug"
)

// Info describes a build. Fields that the toolchain did not record are empty.
type Info struct {
	// Version is the version of the Switchyard module, such as v1.2.0, or (devel) if the program
	// was built without version control.
	Version string `json:"version"`
	// Revision is the commit, Time its time in RFC 3339, and Modified whether files had been
	// changed since.
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	// Go is the version of the toolchain.
	Go string `json:"go"`
}

// module is the path of the Switchyard module. It is a dependency of workers that applications
// build.
const module = "github.com/switchyard/switchyard"

// version is set by the linker for builds without version control, such as those of images:
// -ldflags='-X github.com/switchyard/switchyard/internal/buildinfo.version=v1.2.0'. Empty if unset.
var version string

// Read returns the description of the running program. In a worker that an application built, the
// version is that of its Switchyard module, and the revision that of the application.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{Version: "unknown"}
	}
	return of(build, version)
}

// of describes a build. A linked version replaces that of the main module, unless an application
// uses Switchyard as a dependency.
func of(build *debug.BuildInfo, linked string) Info {
	info := Info{Version: cmp.Or(linked, build.Main.Version), Go: build.GoVersion}
	for _, m := range build.Deps {
		if m.Path == module {
			info.Version = m.Version
		}
	}
	info.Version = cmp.Or(info.Version, "(devel)")
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.time":
			info.Time = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return info
}

// shortRevision is the number of characters of a commit that are printed.
const shortRevision = 12

// String returns the description as one line, such as
// "v1.2.0 (commit 0123456789ab of 2026-11-22T10:00:00Z, modified), go1.26.0".
func (i Info) String() string {
	text := i.Version
	if i.Revision != "" {
		text += " (commit " + i.Revision[:min(len(i.Revision), shortRevision)] + " of " + i.Time
		if i.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return text + ", " + i.Go
}
