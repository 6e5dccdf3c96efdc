package main

import (
	_ "embed" // of the file with the configuration
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/server/common/dynamicconfig"
)

//go:embed dynamicconfig.yaml
var tuning []byte

// tuned returns the dynamic configuration of a server for one machine.
func tuned() dynamicconfig.StaticClient {
	var loader dynamicconfig.YamlLoader
	loader.LoadFile(tuning)
	values := dynamicconfig.StaticClient{}
	for key, value := range loader.Map {
		values[key] = value
	}
	return values
}

// parseDynamicConfig parses values of --dynamic-config-value, "key=JSON"; the last one of a key
// counts. The error names the value and explains whether the key is unknown, the value is not JSON,
// or the server rejects it.
func parseDynamicConfig(values []string) (dynamicconfig.StaticClient, error) {
	parsed := dynamicconfig.StaticClient{}
	for _, text := range values {
		key, value, found := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" {
			return nil, fmt.Errorf(
				"--dynamic-config-value %q has no key: write key=value, for example frontend.rps=5000",
				text)
		}
		if !json.Valid([]byte(value)) {
			return nil, fmt.Errorf(
				`--dynamic-config-value %q: the value %q is not JSON: strings need double quotes, for example '%s="10ms"'`,
				text, value, key)
		}
		// The server's own reader knows all keys and types. It reads YAML, a superset of JSON. It
		// only warns about unknown keys and values of the wrong type and ignores them later, so
		// they are errors here.
		var loader dynamicconfig.YamlLoader
		loader.LoadValue(dynamicconfig.MakeKey(key), []byte(`[{"value": `+value+`}]`))
		if err := errors.Join(append(loader.Errors, loader.Warnings...)...); err != nil {
			return nil, fmt.Errorf("the server rejects --dynamic-config-value %q: %w", text,
				err)
		}
		parsed[dynamicconfig.MakeKey(key)] = loader.Map[dynamicconfig.MakeKey(key)]
	}
	return parsed, nil
}
