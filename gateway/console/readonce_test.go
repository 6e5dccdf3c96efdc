package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
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

func TestInbox_ReadsOpenRunsOncePerPoll(t *testing.T) {
	f := waitingRun()
	p := &poller{backend: f, now: time.Now, about: newAboutCache(f),
		changed: make(chan struct{}), read: make(chan struct{})}
	for range 3 {
		p.poll(t.Context())
	}
	if f.polls != 3 {
		t.Errorf("3 polls read the open runs %d times", f.polls)
	}
}

// A call leaves the inbox when it is decided, also while a reading is under way that began before.
// If it still waits in a later reading, it is back.
func TestInbox_DropsWhatWasDecidedAtOnce(t *testing.T) {
	f := waitingRun()
	key := aboutKey{f.calls[0].WorkflowID, f.calls[0].Call, f.calls[0].Digest}
	synctest.Test(t, func(t *testing.T) {
		p := &poller{backend: &slowInbox{fake: f, takes: time.Second}, now: time.Now,
			about: newAboutCache(f), kicks: make(chan struct{}, 1), gone: map[aboutKey]time.Time{},
			changed: make(chan struct{}), read: make(chan struct{})}
		p.poll(t.Context())
		if n := p.count(); n != 1 {
			t.Fatalf("%d wait", n)
		}
		time.AfterFunc(time.Second/2, func() { p.removeDecided(key) })
		p.poll(t.Context())
		if n := p.count(); n != 0 {
			t.Errorf("%d wait after the decision", n)
		}
		p.poll(t.Context())
		if n := p.count(); n != 1 {
			t.Errorf("%d wait, want the call that is asked about again", n)
		}
	})
}

// Without the server, the inbox is read again soon, however long the attempts take.
func TestInbox_TriesAgainSoonWithoutTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slowInbox{fake: waitingRun(), takes: 10 * time.Second}
		f.err = errAway
		p := newPoller(f)
		_, done := p.follow()
		<-time.After(time.Minute)
		f.mu.Lock()
		polls := f.polls
		f.mu.Unlock()
		if polls < 5 {
			t.Errorf("%d attempts in a minute", polls)
		}
		done()
		p.close()
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
		views := newViewCache(f)
		first, cancel := context.WithCancel(t.Context())
		results := make(chan error, 5)
		of := func(ctx context.Context) {
			_, err := views.of(ctx, runRef{ID: "run/1"}, 0, 0)
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

func TestRun_IsNoLongerReadWithoutRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := waitingRun()
		f.gate = make(chan struct{}) // until the reading ends
		views := newViewCache(f)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = views.of(ctx, runRef{ID: "run/1"}, 0, 0) }()
		synctest.Wait()
		cancel()
		synctest.Wait() // all goroutines have ended
		close(f.gate)
		if _, err := views.of(t.Context(), runRef{ID: "run/1"}, 0, 0); err != nil || f.reads != 2 {
			t.Errorf("the next request reads the run %d times, %v", f.reads, err)
		}
	})
}

// A page of a run whose history takes long is shown at once, and the browser waits for the reading
// that has begun. Watches look less often at such a run.
func TestRun_SaysThatItIsBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := waitingRun()
		f.gate = make(chan struct{})
		c := consoleOf(t, f, approver)
		time.AfterFunc(3*time.Second, func() { close(f.gate) })
		began := time.Now()
		page := get(c, "/console/run?id=run%2F1&before=7").Body.String()
		const next = `content="0; url=/console/run?before=7&amp;id=run%2F1&amp;wait=1"`
		if time.Since(began) != showReading || !strings.Contains(page, "Reading its history") ||
			!strings.Contains(page, next) {
			t.Errorf("after %v: %s", time.Since(began), page)
		}
		page = get(c, "/console/run?id=run%2F1&before=7&wait=1").Body.String()
		if time.Since(began) != 3*time.Second || !strings.Contains(page, "Conversation") ||
			f.reads != 1 {
			t.Errorf("after %v and %d readings: %s", time.Since(began), f.reads, page)
		}
		if took := c.views.took(runRef{ID: "run/1"}); took != 3*time.Second {
			t.Errorf("the reading took %v", took)
		}
	})
}

// The ID of a session is used again: a page that is opened later must not share the watch that has
// ended, although an old page is still open.
func TestWatches_FollowTheNextRunOfAnID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := waitingRun()
		f.run.Closed = asked
		w := newWatches(f, newViewCache(f).took)
		defer w.close()
		run := runRef{ID: "run/1"}
		changed, leave, _ := w.follow(run, "eve")
		<-changed()
		synctest.Wait()
		f.setClosed(time.Time{})
		next, leaveNext, ok := w.follow(run, "ada")
		if !ok {
			t.Fatal("the next run is not followed")
		}
		if leave(); len(w.runs) != 1 {
			t.Error("the end of the old page has removed the new watch")
		}
		signal := next()
		<-time.After(2 * watchEvery)
		f.setClosed(asked)
		<-signal
		leaveNext()
		if len(w.runs) != 0 {
			t.Errorf("%d watches are left", len(w.runs))
		}
	})
}

func (f *fake) setClosed(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run.Closed = at
}

func TestWatches_AreLimitedForEachPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatches(waitingRun(), newViewCache(nil).took)
		defer w.close()
		id := func(i int) runRef { return runRef{ID: string(rune('a' + i))} }
		for i := range maxWatchesEach {
			if _, _, ok := w.follow(id(i), "eve"); !ok {
				t.Fatal("too few runs are followed")
			}
		}
		if _, _, ok := w.follow(id(maxWatchesEach), "eve"); ok {
			t.Error("one person follows more runs than allowed")
		}
		if _, _, ok := w.follow(id(0), "eve"); !ok {
			t.Error("a second page of a run that is followed is refused")
		}
		if _, _, ok := w.follow(id(maxWatchesEach), "ada"); !ok {
			t.Error("another person is refused")
		}
	})
}

// Somebody without a place for a stream must not have the run looked at.
func TestEvents_TakeAPlaceForTheStreamFirst(t *testing.T) {
	c := consoleOf(t, waitingRun(), approver)
	for range maxStreamsEach {
		c.streams.enter(approver.Name)
	}
	w := get(c, "/console/events/run?id=run%2F1")
	if w.Code != http.StatusServiceUnavailable || len(c.runs.runs) != 0 {
		t.Errorf("the stream is answered with %d, %d watches", w.Code, len(c.runs.runs))
	}
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
