package host

import "github.com/switchyard/switchyard/toolspecs/policies"

// policySource has the rules as they are configured now.
type policySource struct {
	current func() *policies.Set
	close   func()
}

// readPolicies reads the policies file and goes on to read it; without one there are no rules for all.
func (c Config) readPolicies() (*policySource, error) {
	if c.PoliciesFile == "" {
		return &policySource{current: func() *policies.Set { return nil }, close: func() {}}, nil
	}
	file, err := policies.Watch(c.PoliciesFile, c.ReloadInterval, func(set *policies.Set) {
		c.Logger.Info("policies reloaded", "file", c.PoliciesFile, "rules", set.Len())
	}, func(err error) {
		c.Logger.Warn("the policies file is wrong; what was in effect stays", "file", c.PoliciesFile, "error", err)
	})
	if err != nil {
		return nil, err
	}
	c.Logger.Info("policies in force", "file", c.PoliciesFile, "rules", file.Value().Len())
	return &policySource{current: file.Value, close: file.Close}, nil
}
