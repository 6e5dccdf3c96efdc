package access

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/content"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/toolspecs"
)

// content checks prompts and resources.
func (c *checker) content(path string) {
	content.Check(c.file.Prompts, c.file.Resources, func(name string) string {
		return beside(path, name)
	}, &c.Findings)
	for i, p := range c.file.Prompts {
		c.audience(jsonpath.Index(jsonpath.Root+".prompts", i), p.Audience())
	}
	for i, r := range c.file.Resources {
		c.audience(jsonpath.Index(jsonpath.Root+".resources", i), r.Audience())
	}
}

// audience checks who gets a prompt or a resource.
func (c *checker) audience(at string, a content.Audience) {
	c.claims(at+".claims", a.Claims)
	var known []string
	for name := range c.file.Servers {
		known = append(known, name)
	}
	for i, name := range a.Servers {
		if _, ok := c.file.Servers[name]; !ok {
			c.Add(jsonpath.Index(at+".servers", i), spelling.Hint(name, known),
				"there is no virtual server %q", name)
		}
	}
}

// Content returns the prompts and resources that are in effect.
func (a *Access) Content() *content.Set { return a.Settings().content }

// Select returns the tools that a caller may use on a virtual server, in their order. An empty name
// is the server at /mcp itself: the virtual server default, or all tools if gateway.yaml has no
// servers. The error says that there is no such server, or that the caller may not use it.
func (a *Access) Select(name string, caller api.Caller, tools []*toolspecs.Compiled) (
	[]*toolspecs.Compiled, error) {
	return a.Settings().selectTools(name, caller, tools)
}
