package access

import (
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/internal/test/reference"
)

func TestSchema_IsFresh(t *testing.T) {
	reference.CheckSchema(t, "gateway", "Switchyard gateway.yaml", reflect.TypeFor[settingsFile](),
		"../../deploy/compose/config/gateway.yaml", "../../deploy/kubernetes/gateway/config/gateway.yaml")
}
