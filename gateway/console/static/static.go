// Package static has the frame, the stylesheet and the script of the gateway's pages. The names of
// the files contain a digest, so that browsers may keep them and never use those of another
// version.
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

	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/pagestyle"
)

// Names of the files.
const (
	Style  = "console.css"
	Script = "console.js"
)

//go:embed console.css console.js
var files embed.FS

//go:embed frame.html
var shared embed.FS

// asset is a file as it is served.
type asset struct{ served, contentType, text string }

// assets are all files by name.
var assets = load()

func load() map[string]asset {
	byName := map[string]asset{}
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
		a.served = strings.TrimSuffix(name, extension) + "." + hex.EncodeToString(sum[:6]) + extension
		byName[name] = a
	}
	return byName
}

// Path returns the address of Style or Script. It panics for another name.
func Path(name string) string {
	a, ok := assets[name]
	if !ok {
		panic(fmt.Sprintf("there is no static file %q", name))
	}
	return routes.AssetPath + a.served
}

// Handler serves the files at the addresses that Path returns.
func Handler() http.Handler {
	pages := routes.Pages{}
	for _, a := range assets {
		pages[a.served] = routes.Methods{http.MethodGet: a.serve}
	}
	return pages
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.text))
}
