package access

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/toolspecs"
)

// defaultServer is the virtual server at routes.ServerPath itself.
const defaultServer = "default"

// serverName is what the name of a virtual server may be.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// serverFile is a virtual server as written.
type serverFile struct {
	Scopes []string            `yaml:"scopes" pattern:"^[!#-\\x5b\\x5d-~]+$ %q is not a scope" hint:"write one word"`
	Claims map[string][]string `yaml:"claims"`
	Tools  []selectorFile      `yaml:"tools" rule:"required,min=1,short=name"`
}

// selectorFile selects the tools that fit all of its fields.
type selectorFile struct {
	// Name is a pattern with * and ?.
	Name     string              `yaml:"name"`
	Tag      string              `yaml:"tag"`
	Category string              `yaml:"category" rule:"enum=http|database|file|ai|notification|custom"`
	Claims   map[string][]string `yaml:"claims"`
}

// fault returns why the pattern of a name cannot be used; empty if it can.
func (f selectorFile) fault() string {
	if _, err := path.Match(f.Name, ""); err != nil || strings.ContainsAny(f.Name, `/[]\`) {
		return fmt.Sprintf("%q is not a pattern of names", f.Name)
	}
	return ""
}

// server is a virtual server.
type server struct {
	name   string
	scopes []string
	claims map[string][]string
	tools  []selectorFile
}

func (f serverFile) server(name string) *server {
	return &server{name: name, scopes: f.Scopes, claims: f.Claims, tools: f.Tools}
}

// server returns the virtual server that a route leads to; nil if there is none.
func (s *Settings) server(route routes.Route) *server {
	if route.Kind != routes.Server {
		return nil
	}
	return s.servers[cmp.Or(route.Name, defaultServer)]
}

// admits reports whether an identity with some claims may use the server.
func (s *server) admits(claims map[string]any) bool { return people.HasClaims(claims, s.claims) }

// offers reports whether a server offers a tool to an identity with some claims.
func (s *server) offers(spec *toolspecs.Spec, claims map[string]any) bool {
	return slices.ContainsFunc(s.tools, func(f selectorFile) bool {
		matches, _ := path.Match(f.Name, spec.Name) // checked when the file was read
		return (f.Name == "" || matches) &&
			(f.Tag == "" || slices.Contains(spec.Tags, f.Tag)) &&
			(f.Category == "" || f.Category == spec.Category) && people.HasClaims(claims, f.Claims)
	})
}

// errNoServer says that there is no such virtual server.
var errNoServer = errors.New("there is no such virtual server")

// selectTools is Access.Select.
func (s *Settings) selectTools(name string, caller api.Caller, tools []*toolspecs.Compiled) (
	[]*toolspecs.Compiled, error) {
	if name == "" && s.servers == nil {
		return tools, nil
	}
	name = cmp.Or(name, defaultServer)
	v := s.servers[name]
	if v == nil {
		return nil, errNoServer
	}
	if !v.admits(caller.Claims) {
		return nil, fmt.Errorf("the virtual server %s requires claims that the caller does not have",
			name)
	}
	var selected []*toolspecs.Compiled
	for _, t := range tools {
		if v.offers(&t.Spec, caller.Claims) {
			selected = append(selected, t)
		}
	}
	return selected, nil
}
