package operate

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/switchyard/switchyard/starter/cli"
)

func TestDoctor_WarnsOfAShortRetention(t *testing.T) {
	d := &doctor{app: &cli.App{}, namespace: "agents"}
	for kept, want := range map[time.Duration]finding{
		30 * 24 * time.Hour: {markGood, "namespace agents, finished runs are retained for 30 days", ""},
		3 * 24 * time.Hour: {markWarn,
			"namespace agents, finished runs are retained for 3 days; records, reports and conversations read their histories",
			"keep them longer: starter setup --retention 720h"},
	} {
		if got := d.describeRetention(kept); got != want {
			t.Errorf("%s:\n got %q\nwant %q", kept, got, want)
		}
	}
}

func TestDoctor_AsksTheRemoteCodec(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path + " " + r.Header.Get("Authorization")
		if r.URL.Path != "/token/decode" {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	if err := askCodec(t.Context(), server.URL+"/token/", "Bearer x", "agents"); err != nil ||
		asked != "/token/decode Bearer x" {
		t.Errorf("%v, asked %q", err, asked)
	}
	if err := askCodec(t.Context(), server.URL, "", "agents"); err == nil ||
		err.Error() != "it answers 404 Not Found" {
		t.Errorf("a wrong path: %v", err)
	}
	server.Close()
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", server.URL)
	d := &doctor{app: &cli.App{}, namespace: "agents"}
	found, err := d.codec(t.Context())
	if err != nil || len(found) != 1 || found[0].Mark != markBad {
		t.Errorf("%v, %v", found, err)
	}
}
