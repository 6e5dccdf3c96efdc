package content

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// variable is a variable of a template: a whole or a part of a segment of the address.
var variable = regexp.MustCompile(`\{([A-Za-z0-9_]{1,64})\}`)

// template is an address with variables, as of RFC 6570 with simple expressions.
type template struct {
	names   []string
	pattern *regexp.Regexp
}

// parseTemplate returns the template of an address; nil if it has no variables.
func parseTemplate(uri string) (*template, error) {
	t := &template{}
	var pattern strings.Builder
	pattern.WriteString("^")
	rest := uri
	for {
		at := variable.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		name := rest[at[2]:at[3]]
		if slices.Contains(t.names, name) {
			return nil, fmt.Errorf("the variable {%s} is there twice", name)
		}
		t.names = append(t.names, name)
		pattern.WriteString(regexp.QuoteMeta(rest[:at[0]]) + "([^/?#]+)")
		rest = rest[at[1]:]
	}
	if strings.ContainsAny(variable.ReplaceAllString(uri, ""), "{}") {
		return nil, fmt.Errorf("%q has a variable that is not {NAME} of letters, digits and _", uri)
	}
	if len(t.names) == 0 {
		return nil, nil
	}
	pattern.WriteString(regexp.QuoteMeta(rest) + "$")
	t.pattern = regexp.MustCompile(pattern.String()) // of quoted parts
	return t, nil
}

// match returns the variables of an address of the template.
func (t *template) match(uri string) (map[string]string, bool) {
	found := t.pattern.FindStringSubmatch(uri)
	if found == nil {
		return nil, false
	}
	values := map[string]string{}
	for i, name := range t.names {
		value, err := url.PathUnescape(found[i+1])
		if err != nil {
			return nil, false
		}
		values[name] = value
	}
	return values, true
}

// Fill replaces {NAME} in a text by the value of NAME. Other text in braces stays, and values are
// not read again.
func Fill(text string, values map[string]string) string {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
