package host

import (
	"sync/atomic"

	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// policySource holds the current policies.
type policySource struct {
	current func() *policies.Set
	close   func()
	file    string
	// fault is the current fault of the file; empty if it is valid.
	fault atomic.Value
}

// inForce describes the policies in force; nil without a file.
func (p *policySource) inForce() *workerreport.Policies {
	if p == nil || p.file == "" {
		return nil
	}
	fault, _ := p.fault.Load().(string)
	set := p.current()
	return &workerreport.Policies{File: p.file, Rules: set.Len(), Digest: set.FileDigest(),
		Error: display.ShortenLines(fault, maxReported)}
}

func noPolicies() *policySource {
	return &policySource{current: func() *policies.Set { return nil }, close: func() {}}
}

// readPolicies reads and watches the policies file.
func (c Config) readPolicies() (*policySource, error) {
	if c.PoliciesFile == "" {
		return noPolicies(), nil
	}
	source := &policySource{file: c.PoliciesFile}
	file, err := policies.Watch(c.PoliciesFile, c.ReloadInterval, func(set *policies.Set) {
		source.fault.Store("")
		c.Logger.Info("policies reloaded", "file", c.PoliciesFile, "rules", set.Len())
	}, func(err error) {
		source.fault.Store(err.Error())
		c.Logger.Warn("invalid policies file; the previous rules stay in effect", "file",
			c.PoliciesFile, "error", err)
	})
	if err != nil {
		return nil, err
	}
	c.Logger.Info("policies in force", "file", c.PoliciesFile, "rules", file.Value().Len(),
		"budgets", len(file.Value().Budgets()))
	source.current, source.close = file.Value, file.Close
	return source, nil
}
