package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// Confirmed asks a question on the terminal; everything but yes is no.
func (a *App) Confirmed(question string) bool {
	fmt.Fprint(a.Err, question+" [y/N] ")
	line, _ := bufio.NewReader(a.In).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// Typed is the JSON value that text writes, or text itself as a JSON string.
func Typed(text string) json.RawMessage {
	if _, err := api.DecodeJSON([]byte(text)); err == nil {
		return json.RawMessage(text)
	}
	return QuotedJSON(text)
}

// SplitPair takes name=value apart.
func SplitPair(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", "", fmt.Errorf("%q is not name=value", text)
	}
	return name, value, nil
}

// QuotedJSON is a text as a JSON string.
func QuotedJSON(text string) json.RawMessage {
	quoted, err := api.EncodeJSON(text)
	if err != nil { // text is a string: it can always be encoded
		panic(err)
	}
	return quoted
}
