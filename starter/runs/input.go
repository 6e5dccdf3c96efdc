package runs

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/starter/cli"
)

// parsePairs parses name=value pairs. Values whose name satisfies isText are strings even if they
// parse as other JSON.
func parsePairs(pairs []string, isText func(name string) bool) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for _, p := range pairs {
		name, value, err := cli.SplitPair(p)
		if err != nil {
			return nil, err
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("%q is given twice", name)
		}
		values[name] = cli.ToJSON(value)
		if isText(name) && values[name][0] != '"' {
			values[name] = cli.QuotedJSON(value)
		}
	}
	return values, nil
}

// parseVariables parses the values of --var.
func parseVariables(pairs []string) (map[string]any, error) {
	raw, err := parsePairs(pairs, func(string) bool { return false })
	if err != nil {
		return nil, fmt.Errorf("--var %w", err)
	}
	var variables map[string]any
	for name, value := range raw {
		if variables == nil {
			variables = map[string]any{}
		}
		if variables[name], err = jsonvalue.Decode(value); err != nil {
			return nil, fmt.Errorf("--var %s: %w", name, err)
		}
	}
	return variables, nil
}

// parseArguments reads a call's arguments after the tool name: one JSON object, - for one on stdin,
// or name=value pairs.
func parseArguments(args []string, stdin io.Reader, isText func(name string) bool) (string, error) {
	if len(args) == 1 && args[0] == "-" {
		data, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
		if err != nil {
			return "", fmt.Errorf("cannot read the arguments from standard input: %w", err)
		}
		if len(data) > maxInput {
			return "", fmt.Errorf(
				"the arguments on standard input are too large: at most %s bytes can be sent",
				display.Thousands(maxInput))
		}
		return objectText(string(data))
	}
	if len(args) == 1 && strings.HasPrefix(strings.TrimSpace(args[0]), "{") {
		return objectText(args[0])
	}
	values, err := parsePairs(args, isText)
	if err != nil {
		return "", fmt.Errorf(
			"argument %w; write name=value pairs, or all arguments as one JSON object", err)
	}
	text, err := jsonvalue.Encode(values)
	return string(text), err
}

func objectText(text string) (string, error) {
	value, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		return "", fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if _, ok := value.(map[string]any); !ok {
		return "", fmt.Errorf("the arguments are not a JSON object such as {\"name\": \"value\"}")
	}
	return strings.TrimSpace(text), nil
}
