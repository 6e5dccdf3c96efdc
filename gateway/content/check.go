package content

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// name is what the name of a prompt, and of an argument, may be.
var name = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// checker reports what is wrong beyond types.
type checker struct {
	*strictyaml.Findings
	set   *Set
	names map[string]bool
}

// Check reports what is wrong with the prompts and resources of gateway.yaml, beyond types.
func Check(prompts []Prompt, resources []Resource, beside func(string) string,
	found *strictyaml.Findings) {
	c := &checker{found, &Set{beside: beside}, map[string]bool{}}
	for i := range prompts {
		c.prompt(jsonpath.Index(jsonpath.Root+".prompts", i), &prompts[i])
	}
	clear(c.names)
	for i := range resources {
		c.resource(jsonpath.Index(jsonpath.Root+".resources", i), &resources[i])
	}
}

// once reports a name that is given twice.
func (c *checker) once(at, name string) {
	if c.names[name] {
		c.Add(at, "remove one", "%q is given twice", name)
	}
	c.names[name] = true
}

func (c *checker) prompt(at string, p *Prompt) {
	c.once(at+".name", p.Name)
	if p.Name != "" && !name.MatchString(p.Name) {
		c.Add(at+".name", "use letters, digits and _ . -", "%q is not the name of a prompt", p.Name)
	}
	c.arguments(at, p.Arguments)
	for i, m := range p.Messages {
		m.check(c, jsonpath.Index(at+".messages", i))
	}
}

func (m Message) check(c *checker, at string) {
	if set := count(m.Text, m.File, m.Resource); set != 1 {
		c.Add(at, "set exactly one of text, file and resource", "%d of them are set", set)
	}
	if m.File == "" {
		return
	}
	got, err := (&View{beside: c.set.beside}).ReadFile(m.File, "")
	switch kind, _, _ := strings.Cut(got.MIMEType, "/"); {
	case err != nil:
		c.Add(at+".file", "paths are relative to gateway.yaml", "the file cannot be read: %v", err)
	case !got.Text && kind != "image" && kind != "audio":
		c.Add(at+".file", "declare the file as a resource, and name that",
			"%s is no text, image or sound", m.File)
	}
}

func (c *checker) arguments(at string, arguments []Argument) {
	var names []string
	for i, a := range arguments {
		at := jsonpath.Index(at+".arguments", i) + ".name"
		if !name.MatchString(a.Name) && a.Name != "" {
			c.Add(at, "use letters, digits and _ . -", "%q is not the name of an argument", a.Name)
		}
		if slices.Contains(names, a.Name) {
			c.Add(at, "remove one", "%q is given twice", a.Name)
		}
		names = append(names, a.Name)
	}
}

func (c *checker) resource(at string, r *Resource) {
	c.once(at+".uri", r.URI)
	t := c.address(at+".uri", r.URI)
	switch set := count(r.Text, r.File); {
	case set != 1:
		c.Add(at, "set exactly one of text and file", "%d of them are set", set)
	case t != nil && r.Text == "":
		c.Add(at+".uri", "use text, or remove the variables",
			"a file does not depend on the variables of the address")
	}
	if err := c.readable(r); err != nil {
		c.Add(at, "paths are relative to gateway.yaml", "%v", err)
	}
	c.arguments(at, r.Arguments)
	c.variables(at, r, t)
}

// address checks the address of a resource, and returns its template; nil for none.
func (c *checker) address(at, uri string) *template {
	t, err := parseTemplate(uri)
	u, fault := url.Parse(variable.ReplaceAllString(uri, "x"))
	switch {
	case err != nil:
		c.Add(at, "", "%v", err)
	case uri != "" && (fault != nil || u.Scheme == ""):
		c.Add(at, "write it as docs://handbook", "%q is no absolute address", uri)
	}
	return t
}

// variables checks that the arguments of a resource are variables of its address.
func (c *checker) variables(at string, r *Resource, t *template) {
	for i, a := range r.Arguments {
		if t == nil || !slices.Contains(t.names, a.Name) {
			c.Add(jsonpath.Index(at+".arguments", i)+".name", "remove it, or write {"+a.Name+
				"} in uri", "the address has no variable %q", a.Name)
		}
	}
}

// readable returns why the file of a resource cannot be read.
func (c *checker) readable(r *Resource) error {
	if r.File == "" {
		return nil
	}
	info, err := os.Stat(c.set.beside(r.File))
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", r.File)
	}
	return err
}

// count returns how many texts are not empty.
func count(texts ...string) (n int) {
	for _, t := range texts {
		if t != "" {
			n++
		}
	}
	return n
}
