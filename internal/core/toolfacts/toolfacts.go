// Package toolfacts decides which tools an entry of an agent's list of tools selects.
package toolfacts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// The prefixes of entries in an agent's list of tools that select tools by other facts than their
// name.
const (
	tag      = "tag:"
	category = "category:"
	server   = "server:"
	instance = "instance:"
)

// SelectsTools reports whether an entry in an agent's list of tools selects tools instead of naming
// one: a name with *, or tag:, category:, server: or instance: with a value.
func SelectsTools(entry string) bool { return strings.ContainsAny(entry, "*:") }

// CheckEntry returns why an entry in an agent's list of tools is neither the name of a tool nor
// selects tools.
func CheckEntry(entry string) error {
	for _, prefix := range []string{tag, category, server, instance} {
		if value, ok := strings.CutPrefix(entry, prefix); ok {
			if value == "" {
				return fmt.Errorf("%q names no %s", entry, strings.TrimSuffix(prefix, ":"))
			}
			return nil
		}
	}
	if strings.Contains(entry, ":") {
		return fmt.Errorf("%q selects no tools: begin with tag:, category:, server: or instance: "+
			"instead", entry)
	}
	return api.CheckToolName(strings.ReplaceAll(entry, "*", "x"))
}

// Selects reports whether an entry in an agent's list of tools selects the tool or names it.
func Selects(f Facts, entry string) bool {
	if value, ok := strings.CutPrefix(entry, tag); ok {
		return slices.Contains(f.Tags, value)
	}
	if value, ok := strings.CutPrefix(entry, category); ok {
		return f.Category == value
	}
	if value, ok := strings.CutPrefix(entry, server); ok {
		return f.Server == value
	}
	if value, ok := strings.CutPrefix(entry, instance); ok {
		return f.Instance == value
	}
	return matches(entry, f.Name)
}

// Values returns the values with which an entry of the prefix tag:, category:, server: or instance:
// selects the tool.
func Values(f Facts, prefix string) []string {
	switch prefix {
	case tag:
		return f.Tags
	case category:
		return unlessEmpty(f.Category)
	case server:
		return unlessEmpty(f.Server)
	case instance:
		return unlessEmpty(f.Instance)
	}
	return nil
}

func unlessEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// matches reports whether a name matches a pattern, in which * is any text.
func matches(pattern, name string) bool {
	segments := strings.Split(pattern, "*")
	last := len(segments) - 1
	if last == 0 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, segments[0])
	if !ok {
		return false
	}
	// The first occurrence of a segment leaves the most text for those after it.
	for _, segment := range segments[1:last] {
		if _, rest, ok = strings.Cut(rest, segment); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, segments[last])
}

// MaySelect reports whether an entry selects a tool of that name, as far as the name tells.
func MaySelect(entry, name string) bool {
	return strings.Contains(entry, ":") || Selects(Facts{Name: name}, entry)
}

// Facts are the facts by which an agent's list selects a tool.
type Facts struct {
	Name, Category, Server string
	// Instance is the name of the instance that serves the tool; empty if none does.
	Instance string
	Tags     []string
}
