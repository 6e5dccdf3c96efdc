package rest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// A response is JSON, unchanged; text; base64; or nothing.
func TestRESTAnswers_DependOnTheContentType(t *testing.T) {
	for _, c := range []struct{ entry, contentType, body, want, note string }{
		{"", "application/json", ` {"b": 1, "a": 12345678901234567890 } `,
			`{"b":1,"a":12345678901234567890}`, ""},
		{"", "application/problem+json; charset=utf-8", `[1.50]`, `[1.50]`, ""},
		{"", "application/json", "\ufeff\"bom\"", `"bom"`, ""},
		{"", "application/json", "{\"a\":\"\xff\"}", `{"a":"` + "\uFFFD" + `"}`, "not valid UTF-8"},
		{"", "", `{"a":1}`, `{"a":1}`, ""},
		{"", "text/plain", `{"a":1}`, `"{\"a\":1}"`, ""},
		{"", "text/plain", "a<b\n", `"a<b\n"`, ""},
		{"", "text/html", "\xe4", `"` + "\uFFFD" + `"`, "not valid UTF-8"},
		{"", "image/png", "\xff\x00", `{"body_base64":"/wA=","content_type":"image/png"}`,
			"is no text"},
		{"", "application/json", "", `null`, ""},
		{"", "application/json", " \n", `null`, ""},
		{"", "text/plain; charset=ISO-8859-1", "caf\xe9", `"café"`, ""},
		{"", "application/json; charset=ISO-8859-1", "{\"n\":\"caf\xe9\"}", `{"n":"café"}`, ""},
		{"", "text/plain; charset=utf-16le", "\xff\xfec\x00\xe9\x00", `"cé"`, ""},
		{"", "text/plain; charset=utf-16", "\xfe\xff\x00c\x00\xe9", `"cé"`, ""},
		{"", "application/json", "\xff\xfe7\x00", `7`, ""},
		{"", "text/html; charset=Shift_JIS", "\x93\xfa\x96\x7b", `"日本"`, ""},
		{"", "text/plain; charset=klingon", "a", `"a"`, `charset "klingon" of the response is not supported`},
		{"", "text/plain; charset=iso-2022-kr", "a", `"a"`, "is not supported"},
		{"", "text/plain; charset=Shift_JIS", "a\xff", `"a` + "\uFFFD" + `"`, "were replaced by"},
		{"", "application/json; charset=ISO-8859-1", `{"n":"café"}`, `{"n":"café"}`, ""},
		{"extract: a", "", "OK", `"OK"`, "returned as text"},
		{"", "image/png; charset=ISO-8859-1", "\xff\x00",
			`{"body_base64":"/wA=","content_type":"image/png"}`, "is no text"},
		{"", "text/json", `{"a":1}`, `{"a":1}`, ""},
		{"", "application/json", "OK", `"OK"`, "was to be JSON, but: unexpected 'O'"},
		{"", "application/json", `{"a":`, `"{\"a\":"`, "the JSON value is incomplete"},
		{"", "application/json", `{} {}`, `"{} {}"`, "unexpected text after the JSON value"},
		{"extract: a", "text/html", `<html>`, `"<html>"`, "returned as text"},
		{"extract: /a/0", "application/json", `{"a":[12345678901234567890]}`,
			`12345678901234567890`, ""},
		{"extract: /a/0", "text/plain", `{"a":[1.50]}`, `1.50`, ""},
		{"extract: /a/1", "application/json", `{"a":[1]}`, `null`, "nothing at /a/1"},
		{`extract: "a[?id>'x'].b | [0]"`, "application/json",
			`{"a":[{"id":12345678901234567890,"b":1}]}`, `null`, "were not compared"},
		{`extract: "items[].{id: id, name: n}"`, "application/json",
			`{"items":[{"id":12345678901234567890,"n":"x"}]}`,
			`[{"id":12345678901234567890,"name":"x"}]`, ""},
	} {
		url := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if c.contentType != "" {
				w.Header().Set("Content-Type", c.contentType)
			}
			_, _ = io.WriteString(w, c.body)
		})
		answer, err := call(t, restSpec(t, url, cmp.Or(c.entry, "path: /")), `{"p":1}`)
		notes := strings.Join(answer.Notes, "; ")
		if err != nil || string(answer.Output) != c.want || (c.note == "") != (notes == "") ||
			!strings.Contains(notes, c.note) {
			t.Errorf("%s %q: got %s, %q, %v; want %s", c.contentType, c.body, answer.Output, notes,
				err, c.want)
		}
	}
}

// A server that created something, or is to do it later, names its address in a header.
func TestRESTAddresses_ArePartOfTheAnswer(t *testing.T) {
	for _, c := range []struct {
		status                     int
		location, body, want, note string
	}{
		{http.StatusCreated, "/orders/7", "", `{"location":"/orders/7","status":201}`, ""},
		{http.StatusAccepted, "", "", `{"status":202}`, ""},
		{http.StatusAccepted, "/jobs/7", "", `{"location":"/jobs/7","status":202}`, ""},
		{http.StatusOK, "", "", `null`, ""},
		{http.StatusNoContent, "/orders/7", "", `{"location":"/orders/7","status":204}`, ""},
		{http.StatusCreated, "/orders/7", `{}`, `{}`, "the server named the address /orders/7"},
	} {
		url := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.location != "" {
				w.Header().Set("Location", c.location)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		answer, err := call(t, restSpec(t, url, "path: /"), `{"p":1}`)
		if err != nil || string(answer.Output) != c.want ||
			strings.Join(answer.Notes, "; ") != c.note {
			t.Errorf("%+v: got %s, %q, %v", c, answer.Output, answer.Notes, err)
		}
	}
}

// The error shows the beginning of the response. A failing status needs no JSON.
func TestRESTExtract_ThatDoesNotFitIsAnError(t *testing.T) {
	for _, c := range []struct{ entry, contentType, body, want string }{
		{`extract: "length(a)"`, "application/json", `{"a":1}`, `entry.extract does not fit the response: invalid type for: 1, expected: []functions.JpType{"string", "array", "object"}: {"a":1}`},
	} {
		url := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.contentType)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := call(t, restSpec(t, url, c.entry), `{"p":1}`)
		if e := api.AsError(err); e == nil || e.Type != api.ErrInvalidOutput ||
			e.Message != c.want {
			t.Errorf("%s: got %v", c.body, err)
		}
	}
	url := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `["`+strings.Repeat("x", 100_000)+`"]`)
	})
	_, err := call(t, restSpec(t, url, `extract: "abs(@)"`), `{"p":1}`)
	if e := api.AsError(err); e == nil || e.Type != api.ErrInvalidOutput ||
		len(e.Message) > bodyHead+1000 {
		t.Errorf("the reason has %d bytes: %.200s", len(err.Error()), err)
	}
	url = serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "gone")
	})
	answer, err := call(t, restSpec(t, url,
		`extract: a, statuses: [{status: "404", means: answer}]`), `{"p":1}`)
	if err != nil || string(answer.Output) != `"gone"` {
		t.Errorf("got %s, %v", answer.Output, err)
	}
}

// Headers that set cookies are omitted.
func TestRESTHead_ReturnsStatusAndHeaders(t *testing.T) {
	url := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Size", "12")
		w.Header().Set("Set-Cookie", "login=planted")
	})
	answer, err := call(t, restSpec(t, url, `method: HEAD`), `{"p":1}`)
	if err != nil || !bytes.Contains(answer.Output, []byte(`"X-Size":"12"`)) ||
		!bytes.Contains(answer.Output, []byte(`"status":200`)) || bytes.Contains(answer.Output,
		[]byte("planted")) {
		t.Errorf("got %s, %v", answer.Output, err)
	}
}

// A response beyond the limit is cut between characters, with a note on how to get the rest.
// Compressed data is decompressed up to the limit only.
func TestRESTLongResponses_AreTruncated(t *testing.T) {
	bomb := new(bytes.Buffer)
	z := gzip.NewWriter(bomb)
	zeros := make([]byte, 1<<20)
	for range 100 {
		_, _ = z.Write(zeros)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	url := serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(bomb.Bytes())
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `["`+strings.Repeat("ä", 1000)+`"]`)
		case "/endless":
			for {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
		}
	})
	answer, err := call(t, restSpec(t, url, `path: /json, max_response: 101`), `{"p":1}`)
	if want := `"[\"` + strings.Repeat("ä", 49) + `"`; err != nil || string(answer.Output) != want {
		t.Errorf("got %s, %v", answer.Output, err)
	}
	if got := strings.Join(answer.Notes,
		""); got != "the response was cut at 101 bytes of 2004, and half of a JSON value is text; ask for less at a time by page" {
		t.Errorf("got %q", got)
	}
	for _, path := range []string{"bomb", "endless"} {
		answer, err = call(t, restSpec(t, url, `path: /`+path+`, max_response: 1000`), `{"p":1}`)
		if text := jsonvalue.Plain(answer.Output); err != nil || len(text) != 1000 ||
			len(answer.Notes) != 1 {
			t.Errorf("%s: got %d bytes, %q, %v", path, len(text), answer.Notes, err)
		}
	}
	_, err = call(t, restSpec(t, url, `path: /json, max_response: 100, extract: "[0]"`), `{"p":1}`)
	if e := api.AsError(err); e == nil || e.Type != api.ErrInvalidOutput ||
		e.Message != "the response has more than 100 bytes, so that nothing can be extracted from it; ask for less at a time by page, or raise entry.max_response" {
		t.Errorf("got %v", err)
	}
	long := restSpec(t, url, `path: /json`)
	long.Execution.MaxResult = 1000
	if answer, err = call(t, long, `{"p":1}`); err != nil || !slices.Equal(answer.Notes,
		[]string{"ask for a part of it by page"}) {
		t.Errorf("got %q, %v", answer.Notes, err)
	}
}
