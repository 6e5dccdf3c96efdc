package lanes

import (
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/internal/test/reference"
)

func TestSchema_IsFresh(t *testing.T) {
	reference.CheckSchema(t, "lanes", "Switchyard lanes.yaml", reflect.TypeFor[lanesFile](),
		"testdata/*_good.yaml", "../../examples/lanes/lanes.yaml")
}

func TestLanesPage_IsFresh(t *testing.T) {
	reference.CheckTables(t, "lanes-file.md", map[string]reflect.Type{
		"lanes.yaml": reflect.TypeFor[lanesFile](), "lane": reflect.TypeFor[laneFile]()})
}
