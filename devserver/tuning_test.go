package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/server/common/dynamicconfig"
)

var update = flag.Bool("update", false, "rewrite the file of dynamic configuration")

// deployed is the file that docker-compose.yml mounts into the server.
var deployed = filepath.Join("..", "deploy", "temporal", "dynamicconfig.yaml")

func TestDynamicConfigFile_EqualsTheTable(t *testing.T) {
	if *update {
		if err := os.WriteFile(deployed, []byte(dynamicConfigFile()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(deployed)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != dynamicConfigFile() {
		t.Errorf("%s differs from the table in tuning.go: run make dynamicconfig", deployed)
	}
}

// The server's own reader has to know each key and accept each value.
func TestDynamicConfigFile_IsReadByTheServer(t *testing.T) {
	var loader dynamicconfig.YamlLoader
	loader.LoadFile([]byte(dynamicConfigFile()))
	for _, fault := range append(loader.Errors, loader.Warnings...) {
		t.Error(fault)
	}
	if want := len(tunedValues()); len(loader.Map) != want {
		t.Errorf("the server reads %d values of %d", len(loader.Map), want)
	}
}
