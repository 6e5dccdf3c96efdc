package toolspecs

import (
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/reference"
)

// Editors complete and check toolspecs with the published schema, which has the rules of their
// types.
func TestSchemas_AreFresh(t *testing.T) {
	reference.CheckSchema(t, "toolspec", "Switchyard toolspec", reflect.TypeFor[specFile](),
		"testdata/specs/*_good.yaml", "../examples/*/tools/*.yaml")
	reference.CheckSchema(t, "servers", "Switchyard servers.yaml", reflect.TypeFor[serversFile]())
}

func TestToolspecPage_IsFresh(t *testing.T) {
	reference.CheckTables(t, "toolspec.md", map[string]reflect.Type{
		"toolspec": reflect.TypeFor[Spec](), "execution": reflect.TypeFor[executionFile](),
		"verify": reflect.TypeFor[api.Verify]()})
}
