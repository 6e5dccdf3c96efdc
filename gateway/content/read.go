package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
)

const (
	// maxFile bounds a file, in bytes, and maxFiles the files of a folder.
	maxFile  = 4 << 20
	maxFiles = 1000
)

// Listed is a resource in the list.
type Listed struct {
	URI, Name, Title, Description, MIMEType string
	// Size is in bytes; zero if it is unknown.
	Size int64
}

// Resources returns the resources that are listed: those without variables, in their order, and the
// files of folders.
func (v *View) Resources() []Listed {
	var all []Listed
	for _, r := range v.resources {
		switch {
		case r.template != nil:
		case r.Dir != "":
			all = append(all, v.files(r)...)
		default:
			l := Listed{r.URI, r.Label(), r.Title, r.Description, r.mimeType(r.File),
				int64(len(r.Text))}
			if r.File != "" {
				if info, err := os.Stat(v.beside(r.File)); err == nil {
					l.Size = info.Size()
				}
			}
			all = append(all, l)
		}
	}
	return all
}

// files returns the files of a folder by name. Hidden ones and what cannot be read are left out.
func (v *View) files(r *Resource) []Listed {
	root, err := os.OpenRoot(v.beside(r.Dir))
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	var all []Listed
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return nil
		}
		hidden := strings.HasPrefix(d.Name(), ".")
		switch {
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || !d.Type().IsRegular():
			return nil
		case len(all) == maxFiles:
			return fs.SkipAll
		}
		all = append(all, Listed{URI: r.URI + escape(name), Name: name,
			Description: r.Description, MIMEType: r.mimeType(name), Size: sizeOf(d)})
		return nil
	})
	return all
}

// sizeOf returns the size of a file; zero if it is unknown.
func sizeOf(d fs.DirEntry) int64 {
	info, err := d.Info()
	if err != nil {
		return 0
	}
	return info.Size()
}

// escape returns the path of a file as a part of an address, and unescape the path.
func escape(name string) string { return (&url.URL{Path: name}).EscapedPath() }

func unescape(below string) (string, error) { return url.PathUnescape(below) }

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

// Contents is the content of a resource, or the call that returns it.
type Contents struct {
	MIMEType string
	// Data is the content. Text is set if it is a text in UTF-8.
	Data []byte
	Text bool
	// Tool is the tool that returns the content; empty for none. Arguments are its arguments.
	Tool      string
	Arguments map[string]string
}

// Read returns the content of the resource at an address. The error is ErrNotFound, or that of
// reading a file.
func (v *View) Read(uri string) (Contents, error) {
	r, rest, values := v.find(uri)
	switch {
	case r == nil:
		return Contents{}, ErrNotFound
	case r.Tool != "":
		return Contents{MIMEType: r.MIMEType, Tool: r.Tool, Arguments: values}, nil
	case r.File != "":
		return v.ReadFile(r.File, r.MIMEType)
	case r.Dir != "":
		return v.readBelow(r, rest)
	}
	return Contents{MIMEType: r.mimeType(""), Data: []byte(Fill(r.Text, values)),
		Text: true}, nil
}

// find returns the resource at an address, with the path of a file in its folder, or the values of
// its variables; nil if there is none. Whole addresses go before folders, and these before
// templates.
func (v *View) find(uri string) (*Resource, string, map[string]string) {
	for _, matches := range []func(*Resource, string) (string, map[string]string, bool){
		(*Resource).is, (*Resource).has, (*Resource).fits} {
		for _, r := range v.resources {
			if rest, values, ok := matches(r, uri); ok {
				return r, rest, values
			}
		}
	}
	return nil, "", nil
}

// is reports whether the resource has that address.
func (r *Resource) is(uri string) (string, map[string]string, bool) {
	return "", nil, r.template == nil && r.Dir == "" && r.URI == uri
}

// has reports whether the resource is a folder for that address, and returns the path of the file.
func (r *Resource) has(uri string) (string, map[string]string, bool) {
	below, ok := strings.CutPrefix(uri, r.URI)
	name, err := unescape(below)
	return name, nil, r.Dir != "" && ok && err == nil && visible(name)
}

// fits reports whether the address is one of the template, and returns its variables.
func (r *Resource) fits(uri string) (string, map[string]string, bool) {
	if r.template == nil {
		return "", nil, false
	}
	values, ok := r.template.match(uri)
	return "", values, ok
}

// visible reports whether a path is that of a file that is listed, if it exists.
func visible(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	return fs.ValidPath(name)
}

// readBelow reads a file of a folder, and nothing that a link leads to outside of it.
func (v *View) readBelow(r *Resource, name string) (Contents, error) {
	root, err := os.OpenRoot(v.beside(r.Dir))
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = root.Close() }()
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return Contents{}, ErrNotFound
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return Contents{}, ErrNotFound
	}
	return contentsOf(file, name, r.MIMEType)
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
	return contentsOf(file, name, mimeType)
}

func contentsOf(file io.Reader, name, mimeType string) (Contents, error) {
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

// Stamp returns a text that changes when the content of a resource does. The error is ErrNotFound,
// also for a resource that a tool returns, whose changes are not known.
func (v *View) Stamp(uri string) (string, error) {
	r, rest, values := v.find(uri)
	if r == nil || r.Tool != "" {
		return "", ErrNotFound
	}
	file := r.File
	if r.Dir != "" {
		file = filepath.Join(r.Dir, filepath.FromSlash(rest))
	}
	if file == "" {
		return api.Digest([]byte(Fill(r.Text, values))), nil
	}
	info, err := os.Stat(v.beside(file))
	if err != nil {
		return "missing", nil
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size()), nil
}
