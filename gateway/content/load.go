package content

import (
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/yosida95/uritemplate/v3"
)

// maxFile bounds a file, in bytes.
const maxFile = 4 << 20

// body is the content of a message or a resource.
type body struct {
	mimeType string
	data     []byte
	// text is set if data is a text in UTF-8.
	text bool
}

// loader reads what a set consists of, and reports what is wrong with it.
type loader struct {
	*strictyaml.Findings
	// beside returns the path of a file that gateway.yaml names.
	beside func(string) string
	names  map[string]bool
}

// Load returns the set of the prompts and resources of gateway.yaml. beside returns the path of a
// file that gateway.yaml names. Faults are added to found.
func Load(prompts []Prompt, resources []Resource, beside func(string) string,
	found *strictyaml.Findings) *Set {
	l := &loader{found, beside, map[string]bool{}}
	s := &Set{}
	for i := range prompts {
		at := jsonpath.Index(jsonpath.Root+".prompts", i)
		l.once(at+".name", prompts[i].Name)
		for j := range prompts[i].Messages {
			l.message(jsonpath.Index(at+".messages", j), &prompts[i].Messages[j])
		}
		s.prompts = append(s.prompts, &prompts[i])
	}
	for i := range resources {
		l.resource(jsonpath.Index(jsonpath.Root+".resources", i), &resources[i])
		s.resources = append(s.resources, &resources[i])
	}
	return s
}

// once reports a name or an address that is given twice.
func (l *loader) once(at, name string) {
	if l.names[name] {
		l.Add(at, "remove one", "%q is given twice", name)
	}
	l.names[name] = true
}

func (l *loader) message(at string, m *Message) {
	switch {
	case count(m.Text, m.File, m.Resource) != 1:
		l.Add(at, "", "set exactly one of text, file and resource")
	case m.Resource == "":
		m.body = l.read(at, m.Text, m.File)
		if !m.body.text && m.body.data != nil && !strings.HasPrefix(m.body.mimeType, "image/") {
			l.Add(at+".file", "declare the file as a resource, and name that",
				"%s is no text or image", m.File)
		}
	}
}

func (l *loader) resource(at string, r *Resource) {
	l.once(at+".uri", r.URI)
	if count(r.Text, r.File) != 1 {
		l.Add(at, "", "set exactly one of text and file")
		return
	}
	r.body = l.read(at, r.Text, r.File)
	if r.MIMEType != "" {
		r.body.mimeType = r.MIMEType
	}
	var example string
	t, err := uritemplate.New(r.URI)
	if err == nil {
		example, err = t.Expand(nil)
	}
	if u, fault := url.Parse(example); err != nil || r.URI != "" &&
		(fault != nil || u.Scheme == "") {
		l.Add(at+".uri", "write it as docs://handbook or docs://{name}",
			"%q is no absolute address", r.URI)
	} else if len(t.Varnames()) > 0 {
		r.template = t
	}
}

// read returns a text, or the content of a file.
func (l *loader) read(at, text, file string) body {
	if file == "" {
		return body{mimeType: "text/plain", data: []byte(text), text: true}
	}
	data, err := filewatch.ReadFile(l.beside(file), maxFile)
	switch {
	case err != nil:
		l.Add(at+".file", "paths are relative to gateway.yaml", "%s cannot be read: %s", file,
			filewatch.Reason(err))
		return body{}
	case len(data) > maxFile:
		l.Add(at+".file", "", "%s has more than %d bytes", file, maxFile)
	}
	kind := mime.TypeByExtension(path.Ext(file))
	if kind == "" {
		kind = http.DetectContentType(data)
	}
	kind, _, _ = strings.Cut(kind, ";")
	family, _, _ := strings.Cut(kind, "/")
	isBinary := family == "image" || family == "audio" || family == "video"
	return body{mimeType: kind, data: data, text: !isBinary && utf8.Valid(data)}
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
