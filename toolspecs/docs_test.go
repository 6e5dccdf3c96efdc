package toolspecs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/agents"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/toolspecs/plans"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// Every YAML block of the documentation decodes without a fault.
func TestDocs_YAMLBlocksDecode(t *testing.T) {
	for _, page := range []string{
		"tools.md", "toolspec.md", "stateful-tools.md", "rest-tools.md", "mcp-tools.md",
		"go-tools.md", "data-flow.md",
		"runs.md", "agents.md", "lanes.md", "lanes-file.md",
		"approvals.md", "policies.md", "policy-language.md",
	} {
		for i, block := range yamlBlocks(t, filepath.Join("..", "docs", page)) {
			if err := decodeBlock(t, block); err != nil {
				t.Errorf("%s, block %d:\n%v", page, i+1, err)
			}
		}
	}
}

func yamlBlocks(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(data), "```yaml\n")[1:] {
		block, _, ok := strings.Cut(part, "```")
		if !ok {
			t.Fatalf("%s: a block has no end", path)
		}
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no YAML blocks", path)
	}
	return blocks
}

// decodeBlock decodes a block as the kind of file that its keys show.
func decodeBlock(t *testing.T, block string) error {
	t.Helper()
	var err error
	switch {
	case strings.Contains(block, "\nentry:"):
		_, err = toolspecs.Decode(beside(t, "agents/researcher.yaml",
			"name: researcher\nmodel: {provider: openai, name: any}\n", "plans/delivery.yaml",
			"calls: [{tool: price, arguments: {item: \"{{args.item}}\"}}]\n"), []byte(block),
			toolspecs.Options{})
	case strings.Contains(block, "\nmodel:"):
		_, err = agents.Decode(beside(t, "blocks/script.yaml", "steps: [{answer: done}]\n"),
			[]byte(block), agents.Known{})
	case strings.HasPrefix(block, "lanes:"):
		_, err = lanes.Decode("block.yaml", []byte(block))
	case strings.Contains(block, "\ncases:"):
		rules := yamlBlocks(t, filepath.Join("..", "docs", "policies.md"))[0]
		_, err = policies.LoadCases(beside(t, "blocks/rules.yaml", rules, "blocks/block.yaml",
			block))
	case strings.HasPrefix(block, "servers:"):
		_, err = toolspecs.CheckServers("servers.yaml", []byte(block))
	case strings.HasPrefix(block, "policies:"), strings.HasPrefix(block, "lists:"),
		strings.HasPrefix(block, "labels:"), strings.HasPrefix(block, "budgets:"):
		_, err = policies.Decode("block.yaml", []byte(block))
	case strings.HasPrefix(block, "steps:"):
		_, err = plans.DecodeScript("block.yaml", []byte(block), nil, "")
	default:
		_, err = plans.Decode("block.yaml", []byte(block), nil)
	}
	return err
}

// beside writes the files that a block names and returns the path of the block.
func beside(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		file := filepath.Join(dir, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "blocks", "block.yaml")
}
