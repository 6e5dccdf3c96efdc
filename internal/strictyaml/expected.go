package strictyaml

import (
	"fmt"
	"reflect"
	"strconv"

	"gopkg.in/yaml.v3"
)

func (d *Document) wrongType(n *yaml.Node, t reflect.Type) {
	hint := ""
	is := got(n)
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == tagNull:
		d.fault(n, "a value is missing here; "+describeType(t),
			"remove the key, or give it a value")
		return
	case n.Kind != yaml.ScalarNode:
	case d.secret[n]:
		is = "what is written here"
	case t.Kind() == reflect.String && t != numberType:
		hint = fmt.Sprintf("put it in quotes: %q", n.Value)
	}
	d.fault(n, describeType(t)+", not "+is, hint)
}

func describeType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return describeType(t.Elem())
	}
	word, ok := wantedWords[t.Kind()]
	switch {
	case t == numberType:
		word = wantedWords[reflect.Float64]
	case !ok || t == durationType:
		word = "text"
	}
	return "this must be " + word
}

var wantedWords = map[reflect.Kind]string{
	reflect.Struct: "a mapping", reflect.Map: "a mapping", reflect.Slice: "a list",
	reflect.Bool: "true or false", reflect.Int: "a whole number",
	reflect.Int64: "a whole number", reflect.Float64: "a number",
}

func got(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	words := map[string]string{tagBool: "the boolean", tagInt: "the number", tagFloat: "the number",
		tagString: "the text"}
	what := words[n.ShortTag()]
	if what == "" {
		what = n.ShortTag()
	}
	const most = 40
	value := n.Value
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "…"
	}
	if n.ShortTag() == tagString {
		value = strconv.Quote(value)
	}
	return what + " " + value
}
