package api

import (
	"encoding/json"
	"fmt"
	"time"
)

// CatalogRequest asks workers about themselves: the input of the workflow CatalogReport.
type CatalogRequest struct {
	// Workers are the identities of the workers to ask.
	Workers []string `json:"workers"`
	// Lanes asks for what happened on their lanes, in place of which tools they hold.
	Lanes bool `json:"lanes,omitempty"`
}

// CatalogReport is what the workers answered.
type CatalogReport struct {
	// Workers are in the order of the request; none where lanes were asked for.
	Workers []WorkerCatalog `json:"workers,omitempty"`
	// Catalogs are what the workers hold, by the digest of the whole, each as CatalogAnswer has it. One is missing where
	// the report would have become too large.
	Catalogs map[string]json.RawMessage `json:"catalogs,omitempty"`
	// Lanes are in the order of the request, where they were asked for.
	Lanes []WorkerLanes `json:"lanes,omitempty"`
}

// WorkerLanes tells what happened on the lanes of one worker, and is the result of LanesActivity.
type WorkerLanes struct {
	// Worker is the worker's identity.
	Worker string `json:"worker"`
	// Failure says why the worker did not answer; then there is nothing else.
	Failure string `json:"failure,omitempty"`
	// Since is when the worker began to count.
	Since time.Time `json:"since,omitzero"`
	// Lanes are the counts of the lanes on which it had calls, by name.
	Lanes map[string]LaneCounts `json:"lanes,omitempty"`
}

// Held returns the tools of the catalog with that digest, sorted by name; nil where the report does not have them.
func (r CatalogReport) ToolVersions(digest string) ([]ToolVersion, error) {
	data, ok := r.Catalogs[digest]
	if !ok {
		return nil, nil
	}
	var hosted Packed[[]ToolVersion]
	if err := json.Unmarshal(data, &hosted); err != nil {
		return nil, fmt.Errorf("the tools of catalog %s: %w", digest, err)
	}
	return hosted.Value, nil
}

// WorkerCatalog tells what one worker holds.
type WorkerCatalog struct {
	// Worker is the worker's identity.
	Worker string `json:"worker"`
	// Failure says why the worker did not answer; then there is nothing else.
	Failure string `json:"failure,omitempty"`
	// Lanes are those that it serves.
	Lanes []string `json:"lanes,omitempty"`
	// Mode is how strictly it reads arguments where neither run nor tool says; it is part of its tools' digests.
	Mode Mode `json:"mode,omitempty"`
	// Digest identifies the set of its tools, and Tools is how many they are.
	Digest string `json:"digest,omitempty"`
	Tools  int    `json:"tools"`
	// Loaded is when it came to hold just these.
	Loaded time.Time `json:"loaded,omitzero"`
	// Error says what is wrong in its folder of toolspecs, and therefore not among its tools.
	Error string `json:"error,omitempty"`
	// Policies are the rules that it checks all calls against; nil where it has none, or does not say.
	Policies *PoliciesInForce `json:"policies,omitempty"`
}

// PoliciesInForce are the rules of a worker's policies file.
type PoliciesInForce struct {
	File  string `json:"file"`
	Rules int    `json:"rules"`
	// Error says what is wrong in the file now; the rules are then those that it had before.
	Error string `json:"error,omitempty"`
}

// CatalogAnswer is a worker's answer: the result of CatalogActivity.
type CatalogAnswer struct {
	WorkerCatalog
	// Held are its tools, sorted by name: a Packed []ToolVersion as JSON, which the workflow hands on as it is.
	Tools json.RawMessage `json:"tools"`
}

// ToolVersion is a tool as a worker holds it.
type ToolVersion struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}
