package models

import (
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/internal/test/reference"
)

func TestSchema_IsFresh(t *testing.T) {
	reference.CheckSchema(t, "models", "Switchyard models", reflect.TypeFor[tableFile](),
		"shipped.yaml")
}
