package lanes

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Every file in testdata has exactly the faults of its golden file: each with line, column and
// hint, all at once. Files named _good have none.
func TestDecode_ReportsTheFaultsOfGoldenFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.*"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if ext := filepath.Ext(file); ext == ".faults" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			set, err := Decode(filepath.Base(file), data)
			if good := strings.Contains(file, "_good."); good != (err == nil) ||
				good != (set != nil) {
				t.Fatalf("set: %v, faults: %v", set, err)
			}
			if err == nil {
				return
			}
			if faults, ok := errors.AsType[strictyaml.Faults](err); !ok ||
				slices.ContainsFunc(faults, func(f strictyaml.Fault) bool {
					return f.Line < 1 ||
						f.Column < 1
				}) {
				t.Errorf("a fault has no place: %v", err)
			}
			golden.Compare(t, file+".faults", err.Error()+"\n")
		})
	}
}

// A file sets the fields it has. All other fields have their defaults, and the built-in lanes exist
// too.
func TestDecode_FillsInDefaults(t *testing.T) {
	set, err := Load(filepath.Join("testdata", "all_good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	five, twenty, none := 5, 20, 0
	second, minute := api.Duration(time.Second), api.Duration(time.Minute)
	all := []api.CallerType{api.CallerPlan, api.CallerAgent, api.CallerSession, api.CallerDirect}
	lease := api.DefaultLease
	want := []api.Lane{
		{Name: "accounts", Key: "{{args.region}}/{{ args.account }}-{x}", Limit: 1, Holders: 2,
			QueueSize: &none, Strategy: "fifo", Fairness: "conversation",
			OnLostLease: "wait", Lease: lease},
		{Name: "ai", Limit: 2, Holders: 2, Strategy: "priority", Fairness: "conversation",
			Categories: []string{"ai"}, OnLostLease: "exit", Lease: lease},
		{Name: "android", Key: "{{args.device}}", Limit: 1, Holders: 8,
			Strategy: "priority", Fairness: "conversation", OnLostLease: "exit", Lease: minute},
		{Name: "database", Limit: 3, Holders: 3, Strategy: "priority", Fairness: "conversation",
			Categories: []string{"database"}, OnLostLease: "exit", Lease: lease},
		{Name: "door", Limit: 2, Holders: 1, Strategy: "reject", Fairness: "caller",
			OnLostLease: "exit", Lease: lease},
		{Name: "general", Strategy: "fifo", Fairness: "caller", QueueTimeout: 30 * second,
			Categories: []string{"custom"}},
		{Name: "gpu", Strategy: "priority", Fairness: "conversation"},
		{Name: "http", Limit: 5, Holders: 4, Strategy: "priority", Fairness: "conversation",
			Rate: 10, QueueTimeout: minute, Categories: []string{"http", "file"},
			OnLostLease: "exit", Lease: lease},
		{Name: "inline", Strategy: "priority", Fairness: "conversation"},
		{Name: "old", Queue: "legacy/printers.old", Strategy: "priority", Fairness: "none"},
		{Name: "phones", Queue: "legacy/phones", Key: "{{args.phone}}", Limit: 1, Holders: 4,
			Strategy: "priority", Fairness: "conversation",
			OnLostLease: "exit", Lease: lease},
		{Name: "printer", Limit: 1, Holders: 1, QueueSize: &twenty, Strategy: "priority",
			Fairness: "conversation", QueueTimeout: minute, Bypass: all, OnLostLease: "exit",
			Lease: lease},
		{Name: "serial", Limit: 1, Holders: 1, QueueSize: &five, Strategy: "priority",
			Fairness: "conversation", OnLostLease: "wait", Lease: lease},
		{Name: "slow", Strategy: "priority", Fairness: "conversation", Rate: 0.01},
	}
	got := set.All()
	if len(got) != len(want) {
		t.Fatalf("the lanes are %q", set.Names())
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("got\n%+v\nwant\n%+v", got[i], want[i])
		}
		if again := WithDefaults(got[i]); !reflect.DeepEqual(again, got[i]) {
			t.Errorf("a second time the defaults change %+v", again)
		}
	}
	for category, lane := range map[string]string{"http": "http", "file": "http", "ai": "ai",
		"database": "database", "custom": "general", "notification": ""} {
		if got, ok := set.ForCategory(category); got != lane || ok != (lane != "") {
			t.Errorf("the category %s has the lane %q", category, got)
		}
	}
}

// Lanes that are read from a file and encoded again are the same lanes: nothing is lost between the
// YAML form and the form in histories.
func TestLanes_RoundTrip(t *testing.T) {
	set, err := Load(filepath.Join("testdata", "all_good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := jsonvalue.Encode(set.All())
	if err != nil {
		t.Fatal(err)
	}
	var back []api.Lane
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if again := NewSet(back...); !reflect.DeepEqual(again, set) {
		t.Errorf("got\n%+v\nwant\n%+v", again.All(), set.All())
	}
}

// The names of the lanes are available whatever else is wrong.
func TestLoad_ReportsUnreadableFiles(t *testing.T) {
	none, folder := filepath.Join(t.TempDir(), "none.yaml"), t.TempDir()
	_, err := Load(none)
	if faults, ok := errors.AsType[strictyaml.Faults](err); !ok ||
		faults[0].String() != none+": cannot be read: no such file or directory" {
		t.Errorf("got %v", err)
	}
	if _, err := Load(folder); err == nil ||
		err.Error() != folder+": cannot be read: it is not a regular file" {
		t.Errorf("got %v", err)
	}
	if _, err := Decode("large.yaml", []byte("# "+strings.Repeat("x", maxFileBytes))); err == nil ||
		err.Error() != "large.yaml:1:1: the file is larger than the maximum of 1 MiB (split it into smaller files)" {
		t.Errorf("got %v", err)
	}
	if got := decodeNames("f.yaml", []byte(
		"lanes: {a: {limit: 0}, b: }\nbuckets: {c: 1}\nwrong: 1")); !slices.Equal(got,
		[]string{"a", "b", "c"}) {
		t.Errorf("the names are %q", got)
	}
	if got := decodeNames("f.yaml", []byte("lanes: [")); got != nil {
		t.Errorf("the names are %q", got)
	}
}

// FuzzDecode passes any bytes to the decoder. It does not panic, and what it accepts satisfies the
// invariants of lanes.
func FuzzDecode(f *testing.F) {
	golden.Seed(f, filepath.Join("testdata", "*.yaml"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Decode("f.yaml", data)
		if err != nil {
			return
		}
		queues := map[string]string{}
		for _, l := range set.All() {
			if l.Name == api.LaneInline {
				continue // it has no task queue
			}
			if err := lanerules.CheckName(l.Name); err != nil {
				t.Errorf("%v", err)
			}
			if l.Limit < 0 || l.Rate < 0 || l.HasLimit() != (l.Holders > 0) || l.HasKey() &&
				!l.HasLimit() || l.UsesWaitQueue() && !l.HasLimit() || l.UsesWaitQueue() &&
				!l.HasKey() && l.Holders != 1 {
				t.Errorf("this was accepted: %+v", l)
			}
			queue := lanerules.TaskQueue(l, api.DefaultTaskQueue, "key")
			if other, taken := queues[queue]; taken {
				t.Errorf("the lanes %s and %s have the task queue %s", other, l.Name, queue)
			}
			queues[queue] = l.Name
		}
	})
}
