package routes_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/switchyard/switchyard/gateway/console/static"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/approvallink"
)

// Every address that other packages make is a route of its kind.
func TestParse_ResolvesTheAddressesOfThePackages(t *testing.T) {
	for path, want := range map[string]routes.Route{
		routes.ServerPath:                        {Kind: routes.Server},
		routes.ServerPath + "/billing":           {Kind: routes.Server, Name: "billing"},
		routes.OperatorPath:                      {Kind: routes.Operator},
		routes.MetadataPath:                      {Kind: routes.Metadata},
		routes.MetadataPath + "/below/mcp":       {Kind: routes.Metadata, Name: "/below/mcp"},
		routes.ConsolePath:                       {Kind: routes.Console},
		routes.ConsolePath + "run/result":        {Kind: routes.Console, Name: "run/result"},
		routes.ConsolePath + "run/timeline.html": {},
		approvallink.Path + "eyJ3Ijo_-.AbC":      {Kind: routes.Link, Name: "eyJ3Ijo_-.AbC"},
		static.Path(static.Script):               {Kind: routes.Asset},
		static.Path(static.Style):                {Kind: routes.Asset},
		"/mcp/" + "a-name-of-65-characters-" + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": {},
	} {
		got, ok := routes.Parse(path)
		if want.Kind == routes.Asset {
			want.Name = got.Name
		}
		if got != want || ok != (want.Kind != "") {
			t.Errorf("%s is %+v, want %+v", path, got, want)
		}
		if p := got.Path(); p != "" && p != path {
			t.Errorf("the path of %+v is %s, want %s", got, p, path)
		}
	}
}

func TestMethods_ServeHeadAsGetAndNameTheOthers(t *testing.T) {
	m := routes.Methods{http.MethodGet: func(http.ResponseWriter, *http.Request) {},
		http.MethodPost: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}}
	for method, want := range map[string]int{http.MethodGet: 200, http.MethodHead: 200,
		http.MethodPost: 204, http.MethodPut: 405, http.MethodOptions: 405, "get": 405} {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		if w.Code != want || want == 405 && w.Header().Get("Allow") != "GET, POST, HEAD" {
			t.Errorf("%s: %d %s", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

// People who open the address of a gateway learn where its pages are.
func TestHandlers_NameTheAddressesAtTheRoot(t *testing.T) {
	for path, want := range map[string]string{"/": "nothing is served here: MCP clients use /mcp, " +
		"people use /console/ if the gateway has a console\n", "/x": "404 page not found\n"} {
		w := httptest.NewRecorder()
		routes.Handlers{}.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound || w.Body.String() != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
