package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"unicode/utf8"
)

// maxFile bounds a file, in bytes.
const maxFile = 4 << 20

// Listed is a resource in the list.
type Listed struct {
	URI, Name, Title, Description, MIMEType string
	// Size is in bytes; zero if it is unknown.
	Size int64
}

// Resources returns the resources that are listed: those without variables, in their order.
func (v *View) Resources() []Listed {
	var all []Listed
	for _, r := range v.resources {
		if r.template != nil {
			continue
		}
		l := Listed{r.URI, r.Label(), r.Title, r.Description, r.mimeType(r.File),
			int64(len(r.Text))}
		if r.File != "" {
			if info, err := os.Stat(v.beside(r.File)); err == nil {
				l.Size = info.Size()
			}
		}
		all = append(all, l)
	}
	return all
}

// Label returns the name of the resource; its address if it has none.
func (r *Resource) Label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.URI
}

// mimeTypes are the types of files by the end of their names. Others follow from their content.
var mimeTypes = map[string]string{".md": "text/markdown", ".txt": "text/plain",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml",
	".csv": "text/csv", ".html": "text/html", ".xml": "application/xml",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
	".gif": "image/gif", ".webp": "image/webp", ".pdf": "application/pdf", ".wav": "audio/wav",
	".mp3": "audio/mpeg"}

// mimeType returns the type of a resource as far as it is known without its content.
func (r *Resource) mimeType(file string) string {
	switch {
	case r.MIMEType != "":
		return r.MIMEType
	case file != "":
		return mimeTypes[strings.ToLower(path.Ext(file))]
	case r.Text != "":
		return "text/plain"
	}
	return ""
}

// Contents is the content of a resource.
type Contents struct {
	MIMEType string
	// Data is the content. Text is set if it is a text in UTF-8.
	Data []byte
	Text bool
}

// Read returns the content of the resource at an address. The error is ErrNotFound, or that of
// reading a file.
func (v *View) Read(uri string) (Contents, error) {
	r, values := v.find(uri)
	switch {
	case r == nil:
		return Contents{}, ErrNotFound
	case r.File != "":
		return v.ReadFile(r.File, r.MIMEType)
	}
	return Contents{MIMEType: r.mimeType(""), Data: []byte(Fill(r.Text, values)),
		Text: true}, nil
}

// Has reports whether there is a resource at an address.
func (v *View) Has(uri string) bool {
	r, _ := v.find(uri)
	return r != nil
}

// find returns the resource at an address, with the values of its variables; nil if there is none.
// Whole addresses go before templates.
func (v *View) find(uri string) (*Resource, map[string]string) {
	for _, r := range v.resources {
		if r.template == nil && r.URI == uri {
			return r, nil
		}
	}
	for _, r := range v.resources {
		if r.template == nil {
			continue
		}
		if values, ok := r.template.match(uri); ok {
			return r, values
		}
	}
	return nil, nil
}

// ReadFile reads a file that gateway.yaml names. mimeType is its type; empty if it is not known.
func (v *View) ReadFile(name, mimeType string) (Contents, error) {
	file, err := os.Open(v.beside(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Contents{}, ErrNotFound
	}
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = file.Close() }()
	return readContents(file, name, mimeType)
}

func readContents(file io.Reader, name, mimeType string) (Contents, error) {
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return Contents{}, err
	}
	if len(data) > maxFile {
		return Contents{}, fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	if mimeType == "" {
		mimeType = mimeTypes[strings.ToLower(path.Ext(name))]
	}
	if mimeType == "" {
		mimeType, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	return Contents{MIMEType: mimeType, Data: data, Text: utf8.Valid(data) &&
		!binary(mimeType)}, nil
}

// binary reports whether contents of a type are bytes even if they happen to be a text.
func binary(mimeType string) bool {
	kind, _, _ := strings.Cut(mimeType, "/")
	return kind == "audio" || kind == "video" || kind == "image" && mimeType != "image/svg+xml"
}
