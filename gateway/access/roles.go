package access

import (
	"net/http"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/jsonpath"
)

// rolesFile says who has which role.
type rolesFile struct {
	Viewer   []memberFile `yaml:"viewer" rule:"min=1,short=name"`
	Operator []memberFile `yaml:"operator" rule:"min=1,short=name"`
	Approver []memberFile `yaml:"approver" rule:"min=1,short=name"`
}

// memberFile selects the identities that fit all of its fields.
type memberFile struct {
	Name   string              `yaml:"name"`
	Scope  string              `yaml:"scope" pattern:"^[!#-\\x5b\\x5d-~]+$ %q is not a scope" hint:"write one word"`
	Claims map[string][]string `yaml:"claims"`
}

func (f memberFile) fits(p Identity) bool {
	return (f.Name == "" || f.Name == p.ID) &&
		(f.Scope == "" || slices.Contains(p.Scopes, f.Scope)) && people.HasClaims(p.Claims, f.Claims)
}

// lists are the members of each role, in the order of roles.
func (f rolesFile) lists() []roleMembers {
	return []roleMembers{{api.RoleViewer, f.Viewer}, {api.RoleOperator, f.Operator},
		{api.RoleApprover, f.Approver}}
}

type roleMembers struct {
	role    api.UserRole
	members []memberFile
}

// findRoles returns the roles of an identity. Whoever may use the tools for approvals is an
// approver. Without authentication everyone has all roles.
func (s *Settings) findRoles(p Identity) []api.UserRole {
	var roles []api.UserRole
	for _, list := range s.roles.lists() {
		operates := list.role == api.RoleApprover && slices.Contains(p.Scopes, s.operatorScope)
		if p.Method == api.AuthLoopback || operates ||
			slices.ContainsFunc(list.members, func(f memberFile) bool { return f.fits(p) }) {
			roles = append(roles, list.role)
		}
	}
	return roles
}

// RolesFromRequest returns the roles of who sent a request that passed Access.Middleware; nil for
// others, and for messages that did not come over HTTP.
func RolesFromRequest(r *http.Request) []api.UserRole {
	if r == nil {
		return nil
	}
	return identityFromContext(r.Context()).Roles
}

// roles checks who has which role.
func (c *checker) roles() {
	for _, list := range c.file.Access.Roles.lists() {
		at := jsonpath.Root + ".access.roles." + string(list.role)
		for i, f := range list.members {
			member := jsonpath.Index(at, i)
			c.claims(member+".claims", f.Claims)
			if f.Name == "" && f.Scope == "" && len(f.Claims) == 0 {
				c.Add(member, "add name, scope or claims", "this selects nobody")
			}
		}
	}
}
