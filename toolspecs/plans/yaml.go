package plans

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// YAML writes a plan as a file that Decode reads back.
func YAML(p api.Plan) ([]byte, error) {
	data, err := api.EncodeJSON(p)
	if err == nil {
		data, err = jsontext.Compact(data) // without escapes that YAML does not have
	}
	if err != nil {
		return nil, fmt.Errorf("the plan cannot be written: %w", err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil { // JSON is YAML
		return nil, fmt.Errorf("the plan cannot be written: %w", err)
	}
	asBlocks(&root)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&root); err != nil {
		return nil, fmt.Errorf("the plan cannot be written: %w", err)
	}
	return b.Bytes(), nil
}

// asBlocks writes every mapping and list over several lines, and quotes a text only where it needs
// that.
func asBlocks(n *yaml.Node) {
	if len(n.Content) > 0 || n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, c := range n.Content {
		asBlocks(c)
	}
}
