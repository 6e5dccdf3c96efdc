// Package workerreport has what workers report about themselves: tools, policies and counts of
// lanes.
package workerreport

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
)

// Report holds what workers said about their tools.
type Report struct {
	// Workers are in the order in which they were asked.
	Workers []Catalog
	// Catalogs are the workers' tools, sorted by name, by the digest of the whole catalog. One that
	// is too large for an answer is missing.
	Catalogs map[string][]ToolVersion
}

// Lanes counts what happened on the lanes of one worker. It is the result of
// ReportLanesActivity.
type Lanes struct {
	// Worker is the worker's identity.
	Worker string `json:"worker"`
	// Failure says why the worker did not answer; the other fields are then empty.
	Failure string `json:"failure,omitempty"`
	// Since is when the worker started counting.
	Since time.Time `json:"since,omitzero"`
	// Lanes are the counts by lane, for lanes on which the worker had calls.
	Lanes map[string]lanerules.Counts `json:"lanes,omitempty"`
}

// Catalog describes the catalog of one worker.
type Catalog struct {
	// Worker is the worker's identity.
	Worker string `json:"worker"`
	// Failure says why the worker did not answer; the other fields are then empty.
	Failure string `json:"failure,omitempty"`
	// Lanes are the lanes that it serves.
	Lanes []string `json:"lanes,omitempty"`
	// Mode is how strictly it validates arguments by default. It is part of the digests of its
	// tools.
	Mode api.Mode `json:"mode,omitempty"`
	// Digest identifies its catalog, and Tools counts the tools in it.
	Digest string `json:"digest,omitempty"`
	Tools  int    `json:"tools"`
	// Loaded is when it loaded this catalog.
	Loaded time.Time `json:"loaded,omitzero"`
	// Error describes the faults in its folder of toolspecs. Faulty toolspecs are not among its
	// tools.
	Error string `json:"error,omitempty"`
	// Policies are the rules it checks every call against; nil if it has none or did not say.
	Policies *Policies `json:"policies,omitempty"`
}

// Policies describes the policies file of a worker.
type Policies struct {
	File  string `json:"file"`
	Rules int    `json:"rules"`
	// Digest identifies the rules, with the table of labels and the budgets if the file has some.
	Digest string `json:"digest,omitempty"`
	// Error describes the faults in the file as it is now; the previous rules remain in force.
	Error string `json:"error,omitempty"`
}

// Answer is the result of ReportCatalogActivity.
type Answer struct {
	Catalog
	// ToolVersions are its tools, sorted by name; nil if they are too many for an answer.
	ToolVersions *api.Packed[[]ToolVersion] `json:"tool_versions,omitempty"`
}

// ToolVersion is one tool of a worker's catalog.
type ToolVersion struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}
