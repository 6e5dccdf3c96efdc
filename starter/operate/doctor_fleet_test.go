package operate

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// plainStorage is that of a command without payload settings.
func plainStorage(t *testing.T) *payloads.Storage {
	t.Helper()
	storage, err := payloads.Open(payloads.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return storage
}

func TestDoctor_ReportsWorkersThatDiffer(t *testing.T) {
	worker := func(name, version, stored string, ahead time.Duration) api.WorkerCatalog {
		return api.WorkerCatalog{Worker: name, Settings: &api.WorkerSettings{Version: version,
			Payloads: stored, ClockAhead: api.Duration(ahead)}}
	}
	const plain = "as they are"
	for _, c := range []struct {
		name    string
		workers []api.WorkerCatalog
		ahead   time.Duration
		want    []finding
	}{
		{name: "nothing", workers: []api.WorkerCatalog{worker("a", "v1", plain, time.Second),
			worker("b", "v1", plain, -time.Second), {Worker: "c", Failure: "gone"}}},
		{name: "versions", workers: []api.WorkerCatalog{worker("a", "v1", plain, 0),
			worker("b", "v2", plain, 0)},
			want: []finding{{markWarn, "workers have different versions:\n    a: v1\n    b: v2",
				"unless a rollout is under way, replace the older workers"}}},
		{name: "payloads", workers: []api.WorkerCatalog{worker("a", "v1",
			"encrypted with the key k", 0)},
			want: []finding{{markWarn,
				"payload settings differ:\n    this command: as they are\n    a: encrypted with the key k",
				"start workers and starter with the same --payload-keys, --payload-store, " +
					"--payload-threshold and --payload-compression, or the same SWITCHYARD_PAYLOAD_* variables"}}},
		{name: "clocks", workers: []api.WorkerCatalog{worker("a", "v1", plain, -time.Minute)},
			ahead: 7 * time.Second,
			want: []finding{{markWarn, "the clock of this machine is 7.00s ahead of the server's",
				"synchronize the clocks, for example with NTP: durations and timeouts in records mix both"},
				{markWarn, "the clock of the worker a is 1m00s behind the server's",
					"synchronize the clocks, for example with NTP: durations and timeouts in records mix both"}}},
	} {
		d := &doctor{app: &cli.App{}, ahead: c.ahead}
		d.app.Connection.Opened = plainStorage(t)
		got := d.evaluateFleet(c.workers)
		if len(got) != len(c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s:\n got %q\nwant %q", c.name, got[i], c.want[i])
			}
		}
	}
}

func TestDoctor_WarnsOfAShortRetention(t *testing.T) {
	d := &doctor{app: &cli.App{}, namespace: "agents"}
	for kept, want := range map[time.Duration]finding{
		30 * 24 * time.Hour: {markGood, "namespace agents, finished runs are retained for 30 days", ""},
		3 * 24 * time.Hour: {markWarn,
			"namespace agents, finished runs are retained for 3 days; records, reports and conversations read their histories",
			"keep them longer: starter setup --retention 720h"},
	} {
		if got := d.retained(kept); got != want {
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
