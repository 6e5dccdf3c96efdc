package agents

import (
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/internal/test/reference"
)

func TestSchema_IsFresh(t *testing.T) {
	reference.CheckSchema(t, "agent", "Switchyard agent", reflect.TypeFor[agentFile](),
		"../testdata/agents/*_good.yaml", "../../examples/kinds/*/agent.yaml")
}
