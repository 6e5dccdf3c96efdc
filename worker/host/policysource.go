package host

import (
	"sync/atomic"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// policySource has the rules as they are configured now.
type policySource struct {
	current func() *policies.Set
	close   func()
	file    string
	// fault is what is wrong in the file now; empty for nothing.
	fault atomic.Value
}

// inForce tells the rules to who asks the worker; nil where there is no file.
func (p *policySource) inForce() *api.PoliciesInForce {
	if p == nil || p.file == "" {
		return nil
	}
	fault, _ := p.fault.Load().(string)
	return &api.PoliciesInForce{File: p.file, Rules: p.current().Len(), Error: api.ShortenLines(fault, maxReported)}
}

func noPolicies() *policySource {
	return &policySource{current: func() *policies.Set { return nil }, close: func() {}}
}

// readPolicies reads the policies file and goes on to read it; without one there are no rules for all.
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
		c.Logger.Warn("the policies file is wrong; what was in effect stays", "file", c.PoliciesFile, "error", err)
	})
	if err != nil {
		return nil, err
	}
	c.Logger.Info("policies in force", "file", c.PoliciesFile, "rules", file.Value().Len())
	source.current, source.close = file.Value, file.Close
	return source, nil
}
