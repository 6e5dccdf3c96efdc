package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

// bigCatalog is the number of imported and reloaded tools.
const bigCatalog = 1000

// measureImport imports an OpenAPI document of many operations and writes their YAML, as starter
// tools import does.
func measureImport(context.Context, *lab) (map[string]float64, error) {
	data, err := json.Marshal(apiOf(bigCatalog))
	if err != nil {
		return nil, err
	}
	began := time.Now()
	specs, err := importAll(data)
	if err != nil {
		return nil, err
	}
	if len(specs) != bigCatalog {
		return nil, fmt.Errorf("%d of %d operations were imported", len(specs), bigCatalog)
	}
	return map[string]float64{"openapi_import_s": time.Since(began).Seconds()}, nil
}

// importAll returns the YAML of the toolspecs of an OpenAPI document, by name.
func importAll(data []byte) (map[string][]byte, error) {
	result, err := imports.OpenAPI("big.json", data, imports.Options{})
	if err != nil {
		return nil, err
	}
	specs := map[string][]byte{}
	for _, tool := range result.Tools {
		text, err := imports.YAML("big.json", tool)
		if err != nil {
			return nil, err
		}
		specs[tool.Spec.Name] = text
	}
	return specs, nil
}

type object = map[string]any

// apiOf returns a document with that many operations. Each has a path parameter, two query
// parameters and a body with a shared schema.
func apiOf(operations int) object {
	paths := object{}
	for i := range operations / 2 {
		name := func(verb string) string { return fmt.Sprintf("%sThing%d", verb, i) }
		id := object{"name": "id", "in": "path", "required": true,
			"schema": object{"type": "string"}}
		ok := object{"200": object{"description": "ok"}}
		paths[fmt.Sprintf("/things%d/{id}", i)] = object{
			"get": object{"operationId": name("get"), "summary": text(200, i), "responses": ok,
				"parameters": []any{id,
					object{"name": "limit", "in": "query", "schema": object{"type": "integer",
						"minimum": 1, "maximum": 100, "default": 20}},
					object{"name": "fields", "in": "query", "schema": object{"type": "array",
						"items": object{"type": "string"}}}}},
			"put": object{"operationId": name("put"), "summary": text(200, i+1), "responses": ok,
				"parameters": []any{id},
				"requestBody": object{"required": true,
					"content": object{"application/json": object{
						"schema": object{"$ref": "#/components/schemas/Thing"}}}}},
		}
	}
	return object{"openapi": "3.1.0", "info": object{"title": "big", "version": "1.0.0"},
		"paths":   paths,
		"servers": []any{object{"url": "https://api.example.com"}},
		"components": object{"schemas": object{
			"Owner": object{"type": "object", "properties": object{"name": object{"type": "string"},
				"mail": object{"type": "string", "maxLength": 200}}},
			"Thing": object{"type": "object", "required": []any{"name"}, "properties": object{
				"name": object{"type": "string", "description": text(300, 7)}, "size": object{
					"type": "number"},
				"owner": object{"$ref": "#/components/schemas/Owner"}, "parts": object{
					"type": "array", "items": object{"$ref": "#/components/schemas/Owner"}}}},
		}}}
}

// measureReload edits one file of a large folder and waits until the edit is in effect.
func measureReload(ctx context.Context, _ *lab) (map[string]float64, error) {
	dir, err := os.MkdirTemp("", "bench-reload")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for i := range bigCatalog {
		if err := writeSpec(dir, i, "as it was"); err != nil {
			return nil, err
		}
	}
	w, err := folder.Watch(folder.WatchConfig{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	took, err := edit(ctx, w, dir)
	return map[string]float64{"reload_s": took.Seconds()}, err
}

// edit changes a toolspec of a watched folder and returns the time until the edit is in effect.
func edit(ctx context.Context, w *folder.Watcher, dir string) (time.Duration, error) {
	updated := make(chan struct{}, 1)
	defer w.Subscribe(func(e folder.CatalogEvent) {
		if e.Type == folder.ToolUpdated {
			updated <- struct{}{}
		}
	})()
	began := time.Now()
	if err := writeSpec(dir, bigCatalog/2, "as it is"); err != nil {
		return 0, err
	}
	select {
	case <-updated:
		return time.Since(began), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(time.Minute):
		return 0, errors.New("the edit did not take effect within a minute")
	}
}

// writeSpec writes the ith toolspec of a folder.
func writeSpec(dir string, i int, description string) error {
	spec := fmt.Sprintf("name: tool_%d\nversion: 1.0.0\ndescription: %s\nparameters:\n  - {name: "+
		"text, type: string, required: true}\n"+
		"  - {name: count, type: integer, default: 1, validation: {min: 1, max: 9}}\nentry: "+
		"{type: command, argv: [echo, \"{{args.text}}\"]}\n", i, description)
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("tool_%d.yaml", i)), []byte(spec), 0o600)
}
