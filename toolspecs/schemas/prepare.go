package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"unicode"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
)

// preparer brings arguments into the form that is validated: unknown ones found, defaults filled
// in, and in lenient mode unknown ones and nulls dropped and strings turned into numbers and
// booleans.
type preparer struct {
	lenient bool
	// bare leaves defaults out.
	bare     bool
	steps    []jsonpath.Step
	notes    []string
	problems []api.Problem
}

func (p *preparer) path() string { return jsonpath.Join(p.steps) }

func (p *preparer) problem(rule, path, message string) {
	p.problems = append(p.problems, api.Problem{Path: path, Rule: rule, Message: message})
}

// value returns v prepared. It changes v's maps and slices in place.
func (p *preparer) value(v any, s *Shape) any {
	switch v := v.(type) {
	case map[string]any:
		p.object(v, s)
	case []any:
		for i, e := range v {
			p.steps = append(p.steps, jsonpath.Step{Index: i})
			v[i] = p.value(e, s.Item())
			p.steps = p.steps[:len(p.steps)-1]
		}
	case string:
		return p.coerce(v, s)
	case json.Number:
		if s.Only(TypeInteger) && strings.ContainsAny(string(v), ".eE") {
			return wholeNumber(v)
		}
	}
	return v
}

func (p *preparer) object(members map[string]any, s *Shape) {
	p.unknown(members, s)
	p.nulls(members, s)
	if s != nil && !p.bare {
		for _, prop := range s.properties {
			if prop.shape == nil || prop.shape.value == nil {
				continue
			}
			if _, given := members[prop.name]; !given {
				members[prop.name] = decodedPlain(prop.shape.value)
			}
		}
	}
	for _, k := range s.Order(members) {
		p.steps = append(p.steps, jsonpath.Step{Key: k, Index: -1})
		members[k] = p.value(members[k], s.Property(k))
		p.steps = p.steps[:len(p.steps)-1]
	}
}

// nulls removes, in lenient mode, optional properties that are null and must not be. Models send
// null for arguments that they leave out.
func (p *preparer) nulls(members map[string]any, s *Shape) {
	if !p.lenient || s == nil {
		return
	}
	for _, prop := range s.properties {
		value, given := members[prop.name]
		if !given || value != nil || prop.required || prop.shape == nil || !prop.shape.refusesNull {
			continue
		}
		delete(members, prop.name)
		p.notes = append(p.notes, jsonpath.Key(p.path(), prop.name)+
			": null was treated as absent")
	}
}

// unknown finds the keys that are not declared. Those that could be taken for another key are
// refused whatever the mode: encoding/json would match them without regard to letter case.
func (p *preparer) unknown(members map[string]any, s *Shape) {
	undeclared := s.others(members)
	if len(undeclared) == 0 {
		return
	}
	folded := map[string]string{}
	for _, name := range s.PropertyNames() {
		folded[FoldKey(name)] = name
	}
	for _, k := range undeclared {
		if other, twin := folded[FoldKey(k)]; twin {
			p.problem(ruleCase, jsonpath.Key(p.path(), k),
				fmt.Sprintf("%s and %s differ only by letter case; write the name exactly",
					jsontext.Shorten(k), jsontext.Shorten(other)))
			delete(members, k)
			continue
		}
		folded[FoldKey(k)] = k
		if s != nil && s.closed {
			p.reportUndeclared(k, s)
			delete(members, k)
		}
	}
}

func (p *preparer) reportUndeclared(key string, s *Shape) {
	path := jsonpath.Key(p.path(), key)
	if p.lenient {
		p.notes = append(p.notes, fmt.Sprintf("%s is not an argument of this tool and was dropped",
			path))
		return
	}
	message := fmt.Sprintf("there is no argument %s", jsontext.Shorten(key))
	if len(p.steps) > 0 {
		message = fmt.Sprintf("there is no property %s", jsontext.Shorten(key))
	}
	if hint := spelling.Hint(key, s.PropertyNames()); hint != "" {
		message += "; " + hint
	}
	p.problem(ruleUnknown, path, message)
}

// coerce reads, in lenient mode, a string as the number or boolean that is declared.
func (p *preparer) coerce(text string, s *Shape) any {
	if !p.lenient || s == nil || s.allows(TypeString) {
		return text
	}
	v, ok := readAs(strings.TrimSpace(text), s)
	if !ok {
		return text
	}
	shown := fmt.Sprintf("%s was read as %v", jsontext.Shorten(text), v)
	if s.Hides() {
		shown = "the text was read as the declared type"
	}
	p.notes = append(p.notes, p.path()+": "+shown)
	return v
}

func readAs(text string, s *Shape) (any, bool) {
	if s.allows(typeBoolean) && (strings.EqualFold(text, "true") || strings.EqualFold(text,
		"false")) {
		return strings.EqualFold(text, "true"), true
	}
	v, err := jsontext.Parse(text)
	n, ok := v.(json.Number)
	if err != nil || !ok {
		return nil, false
	}
	if s.allows(TypeNumber) {
		return n, true
	}
	n = wholeNumber(n)
	return n, s.allows(TypeInteger) && !strings.ContainsAny(string(n), ".eE")
}

// wholeNumber writes a whole number such as 5.0 or 1e3 with digits only, because Go decodes nothing
// else into an int. Other numbers stay.
func wholeNumber(n json.Number) json.Number {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok || !r.IsInt() {
		return n
	}
	return json.Number(r.Num().String())
}

// FoldKey returns the same text for all spellings of a key that encoding/json takes for one.
func FoldKey(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, key)
}
