// Package arguments shows the arguments of calls on pages, so that nothing in them is hidden.
package arguments

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// Argument is an argument of a call as pages show it.
type Argument struct {
	Name, Text string
	// List has the elements of a list of texts. Code says that Text is JSON.
	List []string
	Code bool

	value any
}

// Of returns the members of an object in their order; nil if data is none.
func Of(data json.RawMessage) []Argument {
	value, fault := jsontext.ParseOrdered(data)
	object, ok := value.(*jsontext.Object)
	if fault != nil || !ok {
		return nil
	}
	list := []Argument{}
	for _, name := range object.Names() {
		list = append(list, argumentOf(name, object.Get(name)))
	}
	return list
}

func argumentOf(name string, value any) Argument {
	a := Argument{Name: name, value: value}
	switch v := value.(type) {
	case string:
		a.Text = v
	case []any:
		for _, element := range v {
			text, ok := element.(string)
			if !ok || strings.TrimSpace(text) == "" { // it would look like no element
				a.List = nil
				break
			}
			a.List = append(a.List, text)
		}
		a.Code = a.List == nil
	case *jsontext.Object:
		a.Code = true
	}
	if _, isText := value.(string); !isText && a.List == nil {
		a.Text = Readable(jsontext.Encode(value, nil))
	}
	return a
}

// Listing returns arguments as the default text of an approval has them.
func Listing(arguments []Argument) string {
	var b strings.Builder
	for _, a := range arguments {
		text, ok := a.value.(string)
		if !ok {
			text = string(jsontext.Encode(a.value, nil))
		}
		b.WriteString("\n" + a.Name + ": " + strings.ReplaceAll(text, "\n", "\n    "))
	}
	return b.String()
}

// Change is an argument that an edit has changed; nil for one that is not there.
type Change struct {
	Name          string
	Before, After *Argument
}

// Changes returns what an edit has changed.
func Changes(d *api.Decided) (changes []Change) {
	if d == nil || d.Decision != api.DecisionEdit {
		return nil
	}
	before, after := Of(d.Original), Of(d.Edited)
	for i, old := range before {
		now := named(after, old.Name)
		if now == nil || !slices.Equal(jsontext.Encode(now.value, nil),
			jsontext.Encode(old.value, nil)) {
			changes = append(changes, Change{old.Name, &before[i], now})
		}
	}
	for i, now := range after {
		if named(before, now.Name) == nil {
			changes = append(changes, Change{now.Name, nil, &after[i]})
		}
	}
	return changes
}

func named(list []Argument, name string) *Argument {
	i := slices.IndexFunc(list, func(a Argument) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}
