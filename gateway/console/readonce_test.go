package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
)

var errAway = errors.New("unavailable")

// A run that cannot be read may wait as well, also if everything else can be read.
func TestInbox_SaysThatARunCannotBeRead(t *testing.T) {
	f := &fake{err: &switchyard.UnreadError{Runs: make([]audit.UnreadRun, 1)}}
	page := get(consoleOf(t, f, approver), "/console/inbox").Body.String()
	if !strings.Contains(page, "1 run cannot be read") {
		t.Errorf("the inbox looks empty:\n%s", page)
	}
}

// Pages that ask at once, and soon after, share one reading.
func TestInbox_IsReadOnceForManyBrowsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slowInbox{fake: waitingRun(), takes: time.Second}
		p := newPoller(f)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if list, loading := p.current(t.Context()); loading || len(list.Calls) != 1 {
					t.Errorf("%d calls, loading: %v", len(list.Calls), loading)
				}
			})
		}
		all.Wait()
		p.current(t.Context())
		if f.polls != 1 {
			t.Errorf("the open runs were read %d times", f.polls)
		}
		<-time.After(4 * time.Second)
		p.current(t.Context())
		if f.polls != 2 {
			t.Errorf("after a while the open runs were read %d times", f.polls)
		}
	})
}

// A call leaves the inbox when it is decided, also while a reading is under way that began before.
// If it still waits in a later reading, it is back.
func TestInbox_DropsWhatWasDecidedAtOnce(t *testing.T) {
	f := waitingRun()
	key := aboutKey{f.calls[0].WorkflowID, f.calls[0].Call, f.calls[0].Digest}
	synctest.Test(t, func(t *testing.T) {
		p := newPoller(&slowInbox{fake: f, takes: time.Second})
		shown := func() int {
			list, _ := p.current(t.Context())
			return len(list.Calls)
		}
		if n := shown(); n != 1 {
			t.Fatalf("%d wait", n)
		}
		p.kick()
		time.AfterFunc(time.Second/2, func() { p.removeDecided(key) })
		if n := shown(); n != 0 {
			t.Errorf("%d wait after the decision", n)
		}
		if n := shown(); n != 1 {
			t.Errorf("%d wait, want the call that is asked about again", n)
		}
	})
}

// A page waits for a slow reading for a moment only, and the reading goes on.
func TestInbox_SaysThatItIsBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPoller(&slowInbox{fake: waitingRun(), takes: 10 * time.Second})
		began := time.Now()
		if _, loading := p.current(t.Context()); !loading || time.Since(began) != showWithin {
			t.Errorf("after %v: loading is %v", time.Since(began), loading)
		}
		<-time.After(10 * time.Second)
		if n := p.count(); n != 1 {
			t.Errorf("%d wait", n)
		}
	})
}

// slowInbox is a backend whose inbox takes a while.
type slowInbox struct {
	*fake
	takes time.Duration
}

func (f *slowInbox) inbox(ctx context.Context) ([]switchyard.Approval, []switchyard.Question,
	error) {
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
	}
	return f.fake.inbox(ctx)
}

// Tabs that ask at once share one reading, and the end of the first tab does not end it.
func TestRun_IsReadOnceForRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := waitingRun()
		f.gate = make(chan struct{})
		views := &viewCache{backend: f}
		first, cancel := context.WithCancel(t.Context())
		results := make(chan error, 5)
		of := func(ctx context.Context) {
			_, err := views.of(ctx, runRef{ID: "run/1"}, 0)
			results <- err
		}
		go of(first)
		synctest.Wait()
		for range 4 {
			go of(t.Context())
		}
		synctest.Wait()
		cancel()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("the first request ends with %v", err)
		}
		close(f.gate)
		for range 4 {
			if err := <-results; err != nil {
				t.Errorf("another request ends with %v", err)
			}
		}
		if f.reads != 1 {
			t.Errorf("the history was read %d times", f.reads)
		}
	})
}

// Errors of the server about the query belong to the filter, and others to the page.
func TestLists_TellWhyTheServerRefusesAQuery(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		status int
		has    string
	}{
		"invalid": {&switchyard.RequestError{Type: switchyard.RequestInvalid,
			Message: "bad query"}, http.StatusUnprocessableEntity,
			"The server refuses the query: bad query"},
		"refused": {&switchyard.RequestError{Type: switchyard.ServerRefused,
			Message: "no access"}, http.StatusUnprocessableEntity,
			"The server refuses the query: no access"},
		"away": {&switchyard.RequestError{Type: switchyard.ServerUnreachable,
			Message: "invalid"}, http.StatusServiceUnavailable, away},
	} {
		t.Run(name, func(t *testing.T) {
			c := consoleOf(t, &fake{err: tt.err}, approver)
			for _, path := range []string{"/console/runs", "/console/report"} {
				w := get(c, path)
				if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.has) {
					t.Errorf("%s is answered with %d\n%s", path, w.Code, w.Body)
				}
			}
		})
	}
	status, text := explain(&switchyard.RequestError{Type: switchyard.ServerRefused,
		Message: "no access"})
	if status != http.StatusUnprocessableEntity || text != "No access." {
		t.Errorf("a refusal is explained with %d %q", status, text)
	}
}

// A run with a long history that changes all the time is not read for each change.
func TestRun_IsReadASmallPartOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := waitingRun()
		views := &viewCache{backend: f}
		read := func() int {
			f.gate = make(chan struct{})
			time.AfterFunc(time.Second, func() { close(f.gate) })
			f.run.Parts = append(f.run.Parts, history.Part{RunID: "grown"})
			if _, err := views.of(t.Context(), runRef{ID: "run/1"}, 0); err != nil {
				t.Fatal(err)
			}
			return f.reads
		}
		read()
		if n := read(); n != 1 {
			t.Errorf("it was read %d times", n)
		}
		<-time.After(4 * time.Second)
		if n := read(); n != 2 {
			t.Errorf("after a while it was read %d times", n)
		}
	})
}

func TestReport_ReadsNothingForAWrongFilter(t *testing.T) {
	f := waitingRun()
	w := get(consoleOf(t, f, approver), "/console/report?since=yesterday")
	if w.Code != http.StatusUnprocessableEntity || len(f.queries) != 0 {
		t.Errorf("a wrong time is answered with %d after %d queries", w.Code, len(f.queries))
	}
}

// A report reads many histories: others wait for it, or give up.
func TestReport_WaitsForAnother(t *testing.T) {
	f := waitingRun()
	c := consoleOf(t, f, approver)
	c.reporting <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := c.readReport(ctx, switchyard.RunQuery{}, &reportBody{})
	if !errors.Is(err, context.Canceled) || len(f.queries) != 0 {
		t.Errorf("a second report ends with %v after %d queries", err, len(f.queries))
	}
	<-c.reporting
	err = c.readReport(t.Context(), switchyard.RunQuery{}, &reportBody{})
	if err != nil || len(f.queries) != 1 || len(c.reporting) != 0 {
		t.Errorf("the next report ends with %v after %d queries", err, len(f.queries))
	}
}
