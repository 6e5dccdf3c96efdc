package toolspecs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/toolspecs/agents"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// someLanes has the lanes of the specs in testdata that name one.
var someLanes = lanes.NewSet(api.Lane{Name: "android", Key: "{{args.device}}"},
	api.Lane{Name: "net", Limit: 5, Categories: []string{"http"}},
	api.Lane{Name: "files", Key: "{{args.volume}}/{{args.path}}", Categories: []string{"file"}})

// Every file in testdata has exactly the faults of its golden file: each with line, column and
// hint, all at once. Files named _good have none.
func TestDecode_ReportsTheFaultsOfGoldenFiles(t *testing.T) {
	known := []string{"search", "read"}
	decoders := map[string]func(file string, data []byte) error{
		"specs": func(file string, data []byte) error {
			o := Options{}
			if strings.Contains(file, "handlers") {
				o.Handlers, o.Stateful = known, map[string][]string{
					"counter": {"add"}, "browser": {"back", "click", "url"}}
			}
			if strings.Contains(file, "lanes") {
				o.Lanes = someLanes
			}
			_, err := Decode(file, data, o)
			return err
		},
		"agents": func(file string, data []byte) error {
			names := known
			if strings.Contains(file, "alone") {
				names = nil
			}
			_, err := agents.Decode(file, data, agents.Known{Names: names})
			return err
		},
		"plans": func(file string, data []byte) error {
			_, err := plans.Decode(file, data, known)
			return err
		},
		"scripts": func(file string, data []byte) error {
			_, err := plans.DecodeScript(file, data, known, "")
			return err
		},
	}
	for kind, decode := range decoders {
		files, err := filepath.Glob(filepath.Join("testdata", kind, "*.*"))
		if err != nil || len(files) < 4 {
			t.Fatalf("%s: %d files, %v", kind, len(files), err)
		}
		for _, file := range files {
			if ext := filepath.Ext(file); ext == ".yaml" || ext == ".json" {
				t.Run(filepath.ToSlash(file), func(t *testing.T) { compareFaults(t, file, decode) })
			}
		}
	}
}

func compareFaults(t *testing.T, file string, decode func(string, []byte) error) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	if err := decode(filepath.ToSlash(file), data); err != nil {
		placed(t, err)
		got = withoutKinds(strings.ReplaceAll(err.Error(), "testdata/", "")) + "\n"
	}
	if good := strings.Contains(file, "_good."); good != (got == "") {
		t.Fatalf("faults: %q", got)
	}
	golden.Compare(t, file+".faults", got)
}

// withoutKinds removes the lists of kinds from messages, so that a new kind changes no expected
// text.
func withoutKinds(messages string) string {
	return strings.NewReplacer(
		"known: "+strings.Join(kindNames(), ", "), "known: KINDS",
		strings.Join(scheduledKinds(), ", "), "SCHEDULED_KINDS",
		strings.Join(slotKinds(), ", "), "LANE_KINDS").Replace(messages)
}

// A decoded spec is compiled without a second check, to the tool that its checked form gives.
func TestLocated_CompilesToTheSameToolAsItsSpec(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "specs", "*_good.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{}
		if strings.Contains(file, "lanes") {
			o.Lanes = someLanes
		}
		located, faults := DecodeLocated(file, data, o)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		for _, l := range located {
			got, err := l.Compile()
			want, checkedErr := l.Spec.Compile()
			if err != nil || checkedErr != nil {
				t.Fatalf("%s: %v, %v", file, err, checkedErr)
			}
			if !reflect.DeepEqual(got.Tool(), want.Tool()) ||
				!reflect.DeepEqual(got.inputShape, want.inputShape) ||
				string(got.inputJSON) != string(want.inputJSON) ||
				string(got.outputJSON) != string(want.outputJSON) ||
				(got.output == nil) != (want.output == nil) {
				t.Errorf("%s: %s differs", file, l.Spec.Name)
			}
		}
	}
}

func TestDecode_NormalizesSpecsAndFillsInDefaults(t *testing.T) {
	file := filepath.Join("testdata", "specs", "aliases_good.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := Decode(file, data, Options{Mode: "lenient"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := canonicalSpec(specs[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"search","version":"1.2.3-rc.1+build.5","description":"Searches.\n","category":"file","tags":["2024-01-01","true"],` +
		`"status":"active","parameters":[{"name":"limit","type":"integer","default":1000,"validation":{"min":1,"max":4095}},` +
		`{"name":"offset","type":"integer","default":1,"validation":{"min":1,"max":4095}},` +
		`{"name":"since","type":"string","default":"2024-01-01"},{"name":"ratio","type":"number","default":0.5},` +
		`{"name":"big","type":"integer","default":123456789012345678901234567890}],` +
		`"entry":{"type":"function","handler":"search"},"execution":{"lane":"serial","access":"exclusive","effect":"once","timeout":"1m30s",` +
		`"heartbeat":"1m0s","retry":{"max_attempts":1,"initial_interval":"200ms","backoff":2,"max_interval":"10s"},"max_result":32768,` +
		`"slow_after":"5s","arguments":"lenient","on_invalid_output":"fail"}}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOptions_SetLanesAndHandlers(t *testing.T) {
	const spec = "name: a\nversion: 1.0.0\ndescription: A.\nentry: {type: function}\nexecution: {lane: phones, effect: idempotent}\n"
	specs, err := Decode("a.yaml", []byte(spec), Options{Lanes: lanes.NewSet().Plain("phones"),
		Handlers: []string{"a"}})
	if err != nil || specs[0].Execution.Effect != "idempotent" ||
		specs[0].Execution.Arguments != "" {
		t.Errorf("%+v, %v", specs, err)
	}
	_, err = Decode("a.yaml", []byte(spec), Options{Handlers: []string{}})
	want := "a.yaml:4:8: no function is registered as \"a\"\na.yaml:5:19: there is no lane \"phones\" (known: general, inline, serial; name it in lanes.yaml, or serve it with worker --lanes phones, or correct the name)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// An instance serves only its run, so its calls run one at a time. The heartbeat is short, so that
// the loss of its worker is noticed early, and lost state is not replaced silently.
func TestStatefulTools_HaveTheirServerDefaults(t *testing.T) {
	const spec = "name: counter\nversion: 1.0.0\ndescription: Counts.\nentry: {type: custom}\n"
	specs, err := Decode("a.yaml", []byte(spec), Options{Stateful: map[string][]string{"counter": {"add"}}})
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := specs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	tool := compiled.Tool()
	if tool.Dispatch != api.DispatchInstance || tool.Lane != api.LaneGeneral ||
		tool.Access != api.AccessExclusive ||
		tool.Heartbeat != defaultOnceHeartbeat || tool.OnLoss != api.OnLossFail ||
		tool.IdleTimeout != defaultIdleTimeout || specs[0].Entry.Common().Handler != "counter" {
		t.Errorf("the run pins %+v", tool)
	}
	explicit, err := Decode("a.yaml",
		[]byte(spec+"execution: {access: shared, lane: serial, heartbeat: 3s, effect: idempotent}\n"),
		Options{})
	if err != nil || explicit[0].Execution.Access != api.AccessShared ||
		explicit[0].Execution.Lane != api.LaneSerial ||
		explicit[0].Execution.Heartbeat != 3*api.Duration(time.Second) {
		t.Errorf("explicit values decode to %+v, %v", explicit, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
