package people

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/switchyard/switchyard/api"
)

// ApproverFault returns why no identity can fit the approver; empty if one can.
func ApproverFault(a api.Approver) string {
	known := []api.UserRole{"", api.RoleViewer, api.RoleOperator, api.RoleApprover}
	switch {
	case a.Name+string(a.Role)+string(a.Auth) == "" && len(a.Claims) == 0:
		return "an approver needs name, role, claims or auth"
	case !slices.Contains(known, a.Role):
		return fmt.Sprintf("the role of an approver is viewer, operator or approver, not %.40q",
			a.Role)
	case !isAuthMethod(a.Auth):
		return noAuthMethod
	case len(a.Name) > maxBy:
		return fmt.Sprintf("the name of an approver has at most %d bytes", maxBy)
	}
	return ""
}

// fits reports whether the one who decides is such an approver.
func fits(a api.Approver, d api.Decision) bool {
	accepted := d.Auth == api.AuthOIDC || d.Auth == api.AuthToken || d.Auth == api.AuthKey
	if a.Auth != "" {
		accepted = d.Auth == a.Auth
	}
	return accepted && (a.Name == "" || a.Name == d.By) &&
		(a.Role == "" || slices.Contains(d.Roles, a.Role)) && HasClaims(d.Claims, a.Claims)
}

// HasClaims reports whether claims have one of the wanted values for each name. A claim is a value,
// or a list of values.
func HasClaims(claims map[string]any, wanted map[string][]string) bool {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		values := wanted[name]
		given, ok := claims[name].([]any)
		if !ok {
			given = []any{claims[name]}
		}
		if !slices.ContainsFunc(given, func(g any) bool {
			text := claimText(g)
			return text != "" && slices.Contains(values, text)
		}) {
			return false
		}
	}
	return true
}

// claimText returns a scalar claim as text; empty for others. Numbers are json.Number where the
// gateway reads them, and float64 in a history.
func claimText(claim any) string {
	switch claim := claim.(type) {
	case string:
		return claim
	case json.Number:
		return claim.String()
	case float64:
		return strconv.FormatFloat(claim, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(claim)
	}
	return ""
}
