package strictyaml

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxDepth bounds how deep a document may nest.
const maxDepth = 200

// maxExpanded bounds how many values the aliases of a document expand to.
const maxExpanded = 100_000

// structure checks what holds for every document, whatever it is decoded into.
type structure struct {
	doc *Document
	// sizes holds the nodes that aliases can point to.
	sizes map[*yaml.Node]int
	nodes int
	deep  bool
	// unreadable has the documents that cannot be decoded.
	unreadable bool
}

// inProgress marks a node in sizes that is being counted: an alias that reaches it contains itself.
const inProgress = -1

// check returns how many values n has after expanding aliases.
func (s *structure) check(n *yaml.Node, depth int) int {
	if n.Anchor == "" {
		return s.count(n, depth)
	}
	if size, seen := s.sizes[n]; seen {
		return size
	}
	s.sizes[n] = inProgress
	size := s.count(n, depth)
	s.sizes[n] = size
	return size
}

func (s *structure) count(n *yaml.Node, depth int) int {
	s.nodes++
	if depth > maxDepth {
		if !s.deep {
			s.refuse(n, fmt.Sprintf("the values nest more than %d deep", maxDepth), "")
		}
		s.deep = true
		return 1
	}
	if n.Kind == yaml.AliasNode {
		return s.alias(n, depth)
	}
	s.tag(n)
	size := 1
	for _, c := range n.Content {
		size += min(s.check(c, depth+1), 2*maxExpanded)
	}
	if n.Kind == yaml.MappingNode {
		s.uniqueKeys(n)
	}
	return size
}

// checkRoot checks a whole document.
func (s *structure) checkRoot(root *yaml.Node) {
	size := s.check(root, 0)
	if size > maxExpanded+s.nodes {
		s.refuse(root, fmt.Sprintf("the aliases of this document expand to more than %d values",
			maxExpanded), "write fewer aliases")
	}
}

func (s *structure) alias(n *yaml.Node, depth int) int {
	size := s.check(n.Alias, depth+1)
	if size == inProgress {
		s.refuse(n, fmt.Sprintf("the alias *%s contains itself", n.Value), "")
		return 1
	}
	return size
}

func (s *structure) uniqueKeys(n *yaml.Node) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := deref(n.Content[i])
		if key.Kind != yaml.ScalarNode {
			s.doc.fault(n.Content[i], "a key must be text, not a list or mapping", "")
			continue
		}
		if first, twice := lines[key.Value]; twice {
			s.doc.fault(n.Content[i], fmt.Sprintf("%q is given twice; the first is in line %d",
				key.Value, first), "remove one")
			continue
		}
		lines[key.Value] = n.Content[i].Line
	}
}

// refuse reports a fault that prevents decoding the document.
func (s *structure) refuse(n *yaml.Node, message, hint string) {
	s.unreadable = true
	s.doc.fault(n, message, hint)
}

// tags are those that each kind of node may have.
var tags = map[yaml.Kind][]string{
	yaml.MappingNode:  {"!!map"},
	yaml.SequenceNode: {"!!seq"},
	yaml.ScalarNode:   {tagNull, tagBool, tagString, tagInt, tagFloat, tagTimestamp, tagMerge},
}

// tag reports a tag without a JSON form, or one that contradicts its value.
func (s *structure) tag(n *yaml.Node) {
	switch tag := n.ShortTag(); {
	case !slices.Contains(tags[n.Kind], tag):
		s.doc.fault(n, fmt.Sprintf("the tag %s is not supported", tag),
			"remove it, and write the value itself")
	case tag == tagBool && !strings.EqualFold(n.Value, "true") && !strings.EqualFold(n.Value,
		"false"):
		s.doc.fault(n, fmt.Sprintf("%q is not a boolean", n.Value), "write true or false")
	}
}

func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// entry is one key and its value.
type entry struct{ key, value *yaml.Node }

// entries returns a mapping's keys and values with merge keys (<<) expanded. A mapping's own keys
// take precedence over merged ones, and earlier merged mappings over later ones. misplaced has
// merged values that are not mappings.
func entries(n *yaml.Node) (list []entry, misplaced []*yaml.Node) {
	var merged []*yaml.Node
	have := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := deref(n.Content[i]), n.Content[i+1]
		if key.Kind != yaml.ScalarNode || have[key.Value] {
			// It has been reported; of repeated keys the first counts.
			continue
		}
		if key.ShortTag() == tagMerge {
			merged = append(merged, sources(value)...)
			continue
		}
		have[key.Value] = true
		list = append(list, entry{n.Content[i], value})
	}
	for _, m := range merged {
		if m.Kind != yaml.MappingNode {
			misplaced = append(misplaced, m)
			continue
		}
		more, wrong := entries(m)
		misplaced = append(misplaced, wrong...)
		for _, e := range more {
			if name := deref(e.key).Value; !have[name] {
				have[name] = true
				list = append(list, e)
			}
		}
	}
	return list, misplaced
}

func sources(n *yaml.Node) []*yaml.Node {
	n = deref(n)
	if n.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	list := make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		list[i] = deref(c)
	}
	return list
}
