package policies

import (
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/internal/test/reference"
)

func TestSchemas_AreFresh(t *testing.T) {
	reference.CheckSchema(t, "policies", "Switchyard rules", reflect.TypeFor[rulesFile](),
		"../../examples/policies/labels.yaml")
	reference.CheckSchema(t, "policy-cases", "Switchyard cases of rules",
		reflect.TypeFor[casesFile](), "../../examples/policies/*.cases.yaml")
}

func TestPolicyPage_IsFresh(t *testing.T) {
	reference.CheckTables(t, "policy-language.md", map[string]reflect.Type{
		"budget": reflect.TypeFor[periodFile]()})
}
