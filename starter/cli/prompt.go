package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Confirm asks a question on the terminal. Every answer except yes means no.
func (a *App) Confirm(question string) bool {
	fmt.Fprint(a.Err, question+" [y/N] ")
	line, _ := bufio.NewReader(a.In).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// ToJSON returns text if it is a JSON value, and otherwise text as a JSON string.
func ToJSON(text string) json.RawMessage {
	if _, err := jsonvalue.Decode([]byte(text)); err == nil {
		return json.RawMessage(text)
	}
	return QuotedJSON(text)
}

// SplitPair splits name=value.
func SplitPair(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", "", fmt.Errorf("%q is not name=value", text)
	}
	return name, value, nil
}

// QuotedJSON returns a text as a JSON string.
func QuotedJSON(text string) json.RawMessage {
	quoted, err := jsonvalue.Encode(text)
	if err != nil { // text is a string: it can always be encoded
		panic(err)
	}
	return quoted
}
