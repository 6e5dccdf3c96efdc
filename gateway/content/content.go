// Package content has the prompts and resources that gateway.yaml declares: texts and files.
package content

import (
	"errors"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/core/people"
)

// Audience says who gets a prompt or a resource.
type Audience struct {
	// Servers are virtual servers, by name; empty for all.
	Servers []string
	// Claims are those that the caller needs: one of the values of each.
	Claims map[string][]string
}

func (a Audience) admits(server string, claims map[string]any) bool {
	return (len(a.Servers) == 0 || slices.Contains(a.Servers, server)) &&
		people.HasClaims(claims, a.Claims)
}

// Argument is an argument of a prompt, or a variable of the address of a resource.
type Argument struct {
	Name        string `yaml:"name" rule:"required"`
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	// Required is for prompts: variables of addresses always have a value.
	Required bool `yaml:"required"`
	// Values are suggested to whoever types the argument. Others are possible.
	Values []string `yaml:"values"`
}

// Prompt is a prompt as gateway.yaml has it.
type Prompt struct {
	Name        string              `yaml:"name" rule:"required"`
	Title       string              `yaml:"title"`
	Description string              `yaml:"description" rule:"required"`
	Arguments   []Argument          `yaml:"arguments" rule:"short=name"`
	Messages    []Message           `yaml:"messages" rule:"required,min=1,short=text"`
	Servers     []string            `yaml:"servers"`
	Claims      map[string][]string `yaml:"claims"`
}

// Audience returns who gets the prompt.
func (p *Prompt) Audience() Audience { return Audience{p.Servers, p.Claims} }

// Message is a message of a prompt. Exactly one of Text, File and Resource is set. {NAME} stands
// for an argument in Text, Resource, and the text of File.
type Message struct {
	Role string `yaml:"role" rule:"enum=user|assistant"`
	Text string `yaml:"text"`
	// File is the path of a text, an image or a sound.
	File string `yaml:"file"`
	// Resource is the address of a resource of the gateway.
	Resource string `yaml:"resource"`
}

// Resource is a resource, or a template of resources, as gateway.yaml has it. Exactly one of Text
// and File is set.
type Resource struct {
	// URI is the address. {NAME} makes it a template.
	URI         string `yaml:"uri" rule:"required"`
	Name        string `yaml:"name"`
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	MIMEType    string `yaml:"mime_type"`
	// Text is the content. The variables of a template are replaced in it.
	Text string `yaml:"text"`
	File string `yaml:"file"`
	// Arguments describe the variables of the address.
	Arguments []Argument          `yaml:"arguments" rule:"short=name"`
	Servers   []string            `yaml:"servers"`
	Claims    map[string][]string `yaml:"claims"`

	// template is set if URI has variables.
	template *template
}

// Audience returns who gets the resource.
func (r *Resource) Audience() Audience { return Audience{r.Servers, r.Claims} }

// Set is the prompts and resources of a gateway.
type Set struct {
	prompts   []*Prompt
	resources []*Resource
	// beside returns the path of a file that gateway.yaml names.
	beside func(string) string
}

// New returns a set. beside returns the path of a file that the set names. Check says what is wrong
// with the set.
func New(prompts []Prompt, resources []Resource, beside func(string) string) *Set {
	s := &Set{beside: beside}
	for i := range prompts {
		s.prompts = append(s.prompts, &prompts[i])
	}
	for i := range resources {
		r := &resources[i]
		r.template, _ = parseTemplate(r.URI) // Check reports the fault
		s.resources = append(s.resources, r)
	}
	slices.SortStableFunc(s.prompts, func(a, b *Prompt) int {
		return strings.Compare(a.Name, b.Name)
	})
	return s
}

// HasPrompts reports whether the set has prompts, for whomever.
func (s *Set) HasPrompts() bool { return s != nil && len(s.prompts) > 0 }

// HasResources reports whether the set has resources, for whomever.
func (s *Set) HasResources() bool { return s != nil && len(s.resources) > 0 }

// For returns what a caller with some claims gets on a virtual server. A nil set has nothing.
func (s *Set) For(server string, claims map[string]any) *View {
	v := &View{}
	if s == nil {
		return v
	}
	v.beside = s.beside
	for _, p := range s.prompts {
		if p.Audience().admits(server, claims) {
			v.Prompts = append(v.Prompts, p)
		}
	}
	for _, r := range s.resources {
		if r.Audience().admits(server, claims) {
			v.resources = append(v.resources, r)
		}
	}
	return v
}

// View is what one caller gets.
type View struct {
	// Prompts are sorted by name.
	Prompts   []*Prompt
	resources []*Resource
	beside    func(string) string
}

// ErrNotFound says that there is no such prompt, argument or resource, or that the caller does not
// get it.
var ErrNotFound = errors.New("not found")

// Prompt returns the prompt of a name. The error is ErrNotFound.
func (v *View) Prompt(name string) (*Prompt, error) {
	for _, p := range v.Prompts {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, ErrNotFound
}

// Templates returns the resources whose addresses have variables, in their order.
func (v *View) Templates() []*Resource {
	return slices.DeleteFunc(slices.Clone(v.resources), func(r *Resource) bool {
		return r.template == nil
	})
}

// maxValues is how many values a client gets at a time, by the protocol.
const maxValues = 100

// Complete returns the values of an argument of a prompt that begin with a text, and how many there
// are; the error is ErrNotFound.
func (p *Prompt) Complete(argument, begin string) (values []string, total int, err error) {
	return complete(p.Arguments, argument, begin)
}

// Complete is Prompt.Complete for a variable of the template with that address.
func (v *View) Complete(uri, argument, begin string) (values []string, total int, err error) {
	for _, r := range v.Templates() {
		if r.URI == uri && slices.Contains(r.template.names, argument) {
			values, total, err = complete(r.Arguments, argument, begin)
			if errors.Is(err, ErrNotFound) { // a variable without suggestions
				return []string{}, 0, nil
			}
			return values, total, err
		}
	}
	return nil, 0, ErrNotFound
}

func complete(arguments []Argument, name, begin string) ([]string, int, error) {
	for _, a := range arguments {
		if a.Name != name {
			continue
		}
		values := []string{}
		for _, value := range a.Values {
			if strings.HasPrefix(strings.ToLower(value), strings.ToLower(begin)) {
				values = append(values, value)
			}
		}
		return values[:min(len(values), maxValues)], len(values), nil
	}
	return nil, 0, ErrNotFound
}
