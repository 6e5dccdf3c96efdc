package panics

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

func TestContain_CountsAndLogsWithTheStack(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	counted := Counts()[Gateway]
	failing := func(cause any) (err error) {
		defer Gateway.Contain(context.Background(), nil, func(failed error) { err = failed })
		if cause != nil {
			panic(cause)
		}
		return nil
	}
	if err := failing(nil); err != nil || Counts()[Gateway] != counted {
		t.Errorf("without a panic: %v", err)
	}
	if err := failing("secret"); err != Err || Counts()[Gateway] != counted+1 {
		t.Errorf("got %v", err)
	}
	got := log.String()
	if !strings.Contains(got, "panics_test.go") || !strings.Contains(got, "a value of type string") ||
		strings.Contains(got, "secret") {
		t.Errorf("logged %s", got)
	}
}

func TestText_NamesTheFaultsOfGo(t *testing.T) {
	defer func() {
		if got := Text(recover()); !strings.Contains(got, "nil pointer") {
			t.Errorf("got %q", got)
		}
	}()
	var nothing *bytes.Buffer
	nothing.Reset()
}
