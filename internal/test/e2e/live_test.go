package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

// say streams a part of an answer in OpenAI's protocol.
func say(w http.ResponseWriter, text, finish string) {
	w.Header().Set("Content-Type", "text/event-stream")
	reason := "null"
	if finish != "" {
		reason = strconv.Quote(finish)
	}
	fmt.Fprintf(w, "data: {\"id\":\"x\",\"model\":\"local-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":%s}]}\n\n",
		text, reason)
	w.(http.Flusher).Flush()
}

// heard polls the run as a watcher does until one of its model steps has streamed the text, at the
// given attempt.
func (l *lab) heard(run client.WorkflowRun, texts *audit.Texts, attempt int, text string) {
	l.t.Helper()
	var streamed strings.Builder
	l.await("to hear "+text, func() bool {
		running, err := audit.Pending(l.ctx, l.Client, run.GetID(), run.GetRunID())
		if err != nil {
			l.t.Fatal(err)
		}
		for _, e := range texts.Next(running, time.Now()) {
			if e.Delta.Attempt == attempt && e.Turn == 1 {
				streamed.WriteString(e.Delta.Text)
			}
		}
		return strings.Contains(streamed.String(), text)
	})
}

// size returns the number of events of a run's history, and its bytes.
func (l *lab) size(run client.WorkflowRun) (events int, data []byte) {
	l.t.Helper()
	for _, h := range l.histories(run.GetID(), run.GetRunID()) {
		events += len(h.GetEvents())
		part, err := proto.Marshal(h)
		if err != nil {
			l.t.Fatal(err)
		}
		data = append(data, part...)
	}
	return events, data
}

var heartbeats = regexp.MustCompile(
	`(?m)^temporal_request_total\{[^}]*operation="RecordActivityTaskHeartbeat"[^}]*\} (\d+)`)

// A watcher sees the text of a model before its step has ended. A retry streams its text again from
// the start. Many parts are few heartbeats, and history contains the answer only once.
func TestLiveText_IsStreamed(t *testing.T) {
	l := newLab(t)
	cut, end := make(chan struct{}), make(chan struct{})
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++ // one at a time: a step's attempts follow each other
		switch requests {
		case 1:
			say(w, "Half of a lost answer", "")
			<-cut
			panic(http.ErrAbortHandler)
		case 2:
			for n := range 2000 {
				say(w, fmt.Sprintf("piece %d, ", n), "")
			}
			<-end
			say(w, "done.", "stop")
		default:
			say(w, "At once.", "stop")
		}
	}))
	t.Cleanup(server.Close)
	began := time.Now()
	l.workerIn([]string{"OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_API_KEY=" + secretKey},
		"--tools", "testdata/tools", "--metrics-address", "127.0.0.1:0")
	a := liveAgent()
	run := l.runLive("streamed", a)
	var texts audit.Texts
	l.heard(run, &texts, 1, "Half of a lost answer")
	close(cut)
	l.heard(run, &texts, 2, "piece 1999, ")
	close(end)
	r := l.result(run)
	if !strings.HasPrefix(r.Answer, "piece 0, piece 1, ") || !strings.HasSuffix(r.Answer,
		"piece 1999, done.") || r.Usage.OutputTokens == 0 {
		t.Errorf("the answer has %d bytes, used %+v", len(r.Answer), r.Usage)
	}
	if got := fmt.Sprint(l.stepAttempts(run)); got != "[2]" {
		t.Errorf("the model step had %s attempts, want [2]", got)
	}
	most := int(time.Since(began)/(200*time.Millisecond)) + 2
	if found := heartbeats.FindStringSubmatch(l.readMetrics()); found == nil {
		t.Error("the worker counts no heartbeats")
	} else if n, err := strconv.Atoi(found[1]); err != nil || n < 2 || n > most {
		t.Errorf("%d heartbeats in %s, want 2 to %d (%v)", n, time.Since(began), most, err)
	}
	events, data := l.size(run)
	if bytes.Contains(data, []byte("Half of a lost")) {
		t.Error("the history contains the text of the failed attempt")
	}
	quick := l.runLive("at-once", a)
	l.result(quick)
	if quickly, _ := l.size(quick); events != quickly {
		t.Errorf("the history has %d events, that of an answer at once %d", events, quickly)
	}
}
