package static_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/gateway/console/static"
	"github.com/switchyard/switchyard/gateway/routes"
)

func get(method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	routes.Handlers{routes.Asset: static.Handler()}.ServeHTTP(w,
		httptest.NewRequest(method, path, nil))
	return w
}

func TestHandler_ServesFilesAtTheAddressesOfPath(t *testing.T) {
	for name, want := range map[string]struct{ path, contentType, has string }{
		static.Style:  {`^/console/static/console\.[0-9a-f]{12}\.css$`, "text/css", "--ground"},
		static.Script: {`^/console/static/console\.[0-9a-f]{12}\.js$`, "text/javascript", "use strict"},
	} {
		path := static.Path(name)
		if !regexp.MustCompile(want.path).MatchString(path) {
			t.Errorf("the path of %s is %s", name, path)
		}
		w := get(http.MethodGet, path)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want.has) ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), want.contentType) ||
			!strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s is served as %d with %v", path, w.Code, w.Header())
		}
	}
}

func TestHandler_RefusesOtherAddressesAndMethods(t *testing.T) {
	if w := get(http.MethodGet, routes.AssetPath+"console.css"); w.Code != http.StatusNotFound {
		t.Errorf("a name without digest is answered with %d", w.Code)
	}
	if w := get(http.MethodPost, static.Path(static.Style)); w.Code !=
		http.StatusMethodNotAllowed {
		t.Errorf("a POST is answered with %d", w.Code)
	}
}
