// Package static has the stylesheet and the script of the console's pages. Their names contain a
// digest, so that browsers may keep them and never use those of another version.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/switchyard/switchyard/internal/pagestyle"
)

// Prefix is where Handler serves.
const Prefix = "/console/static/"

// Names of the files.
const (
	Style  = "console.css"
	Script = "console.js"
)

//go:embed console.css console.js
var files embed.FS

// asset is a file as it is served.
type asset struct{ path, contentType, text string }

// assets are all files by name, and served are the same by address.
var assets, served = load()

func load() (byName, byPath map[string]asset) {
	byName, byPath = map[string]asset{}, map[string]asset{}
	for name, contentType := range map[string]string{Style: "text/css; charset=utf-8",
		Script: "text/javascript; charset=utf-8"} {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the file is embedded
		}
		a := asset{contentType: contentType, text: string(text)}
		if name == Style {
			a.text = pagestyle.Base + a.text
		}
		sum := sha256.Sum256([]byte(a.text))
		extension := path.Ext(name)
		a.path = Prefix + strings.TrimSuffix(name, extension) + "." +
			hex.EncodeToString(sum[:6]) + extension
		byName[name], byPath[a.path] = a, a
	}
	return byName, byPath
}

// Path returns the address of Style or Script. It panics for another name.
func Path(name string) string {
	a, ok := assets[name]
	if !ok {
		panic(fmt.Sprintf("there is no static file %q", name))
	}
	return a.path
}

// Handler serves the files at the addresses that Path returns.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := served[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", a.contentType)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.text))
	})
}
