package main

import (
	"strings"
	"testing"

	"go.temporal.io/server/common/dynamicconfig"
)

// The server's own reader has to know each key and accept each value.
func TestDynamicConfigFile_IsReadByTheServer(t *testing.T) {
	var loader dynamicconfig.YamlLoader
	loader.LoadFile(tuning)
	for _, fault := range append(loader.Errors, loader.Warnings...) {
		t.Error(fault)
	}
	if want := strings.Count(string(tuning), "- value:"); len(loader.Map) != want {
		t.Errorf("the server reads %d values of %d", len(loader.Map), want)
	}
}
