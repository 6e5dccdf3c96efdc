package plans

import (
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/internal/test/reference"
)

func TestSchemas_AreFresh(t *testing.T) {
	reference.CheckSchema(t, "plan", "Switchyard plan", reflect.TypeFor[planFile](),
		"../../examples/kinds/plan/delivery.yaml")
	reference.CheckSchema(t, "script", "Switchyard script of the scripted model",
		reflect.TypeFor[scriptFile](), "../../examples/*/*.script.yaml")
}
