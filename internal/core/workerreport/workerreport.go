// Package workerreport has what workers report about themselves: tools, policies and counts of
// lanes.
package workerreport

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
)

// Request is the input of CatalogWorkflow: it asks workers about themselves.
type Request struct {
	// Workers are the identities of the workers to ask.
	Workers []string `json:"workers"`
	// Lanes asks for the counts of their lanes instead of their tools.
	Lanes bool `json:"lanes,omitempty"`
}

// Report holds the answers of the workers.
type Report struct {
	// Workers are in the order of the request; empty where lanes were asked for.
	Workers []Catalog `json:"workers,omitempty"`
	// Catalogs are the workers' tools by the digest of the whole catalog, as in Answer. A
	// catalog is missing if the report would have become too large.
	Catalogs map[string]json.RawMessage `json:"catalogs,omitempty"`
	// Lanes are in the order of the request, if they were asked for.
	Lanes []Lanes `json:"lanes,omitempty"`
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

// ToolVersions returns the tools of the catalog with that digest, sorted by name; nil if the report
// does not have them.
func (r Report) ToolVersions(digest string) ([]ToolVersion, error) {
	data, ok := r.Catalogs[digest]
	if !ok {
		return nil, nil
	}
	var hosted api.Packed[[]ToolVersion]
	if err := json.Unmarshal(data, &hosted); err != nil {
		return nil, fmt.Errorf("the tools of catalog %s: %w", digest, err)
	}
	return hosted.Value, nil
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
	// ToolVersions are its tools, sorted by name: a Packed []ToolVersion as JSON, which the
	// workflow copies unchanged.
	ToolVersions json.RawMessage `json:"tool_versions"`
}

// ToolVersion is one tool of a worker's catalog.
type ToolVersion struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}
