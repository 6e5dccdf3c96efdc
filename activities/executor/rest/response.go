package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/extract"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

const (
	// bodyHead is how much of a response's body an error quotes, in bytes.
	bodyHead = 2 << 10
	// maxMisfit bounds the description of why an expression does not match, in characters: the
	// library's error contains the whole value.
	maxMisfit = 200
	// maxLocation bounds the address that a response names, in characters.
	maxLocation = 2000
	noteUTF8    = "the response was not valid UTF-8; the wrong bytes were replaced by U+FFFD"
)

// restResponse is one response and what converts it to an answer.
type restResponse struct {
	spec   *toolspecs.Spec
	entry  *toolspecs.RESTEntry
	status int
	header http.Header
	// length is the body's declared length in bytes; negative if unknown.
	length int64
	// body is the part of the body that the entry's limit allows, of so many bytes as read; cut
	// means that there was more.
	body       []byte
	read       int
	cut        bool
	credential *outbound.Credential
	// redirected means that the server redirected the call's request with 301, 302 or 303, which
	// may follow its execution.
	redirected bool
	notes      []string
}

func (x *restResponse) note(format string, args ...any) {
	x.notes = append(x.notes, fmt.Sprintf(format, args...))
}

func (x *restResponse) answer() (executor.Answer, error) {
	x.decodeBody()
	rule, mapped := x.rule()
	if rule.Means != toolspecs.MeansAnswer {
		err := x.failure(rule.Message)
		if rule.Means == toolspecs.MeansRetry {
			err = api.Transient(err, api.Duration(outbound.RetryAfter(x.header, time.Now())))
		}
		if x.leavesOpen(mapped) {
			err = executor.Unclear(err)
		}
		return executor.Answer{}, err
	}
	if rule.Message != "" {
		x.note("%s", rule.Message)
	}
	if !x.isSuccess() {
		x.note("the server answered %s", statusText(x.status))
	}
	output, err := x.output()
	if err != nil {
		return executor.Answer{}, err
	}
	if names := x.spec.PagingArguments(); len(names) > 0 &&
		len(output) > x.spec.Execution.MaxResult {
		x.note("ask for a part of it by %s", strings.Join(names, ", "))
	}
	return executor.Answer{Output: output, Notes: x.notes}, nil
}

func (x *restResponse) isSuccess() bool { return x.status/100 == http.StatusOK/100 }

// leavesOpen reports whether a failed status leaves open whether the request took effect: it is a
// server's failure or a redirect that the spec does not map, or any failure of a redirected
// request.
func (x *restResponse) leavesOpen(mapped bool) bool {
	return x.redirected || !mapped && (x.status >= http.StatusInternalServerError ||
		outbound.FollowsExecution(x.status))
}

// refuses reports whether the status alone is a clear answer that the request had no effect.
func (x *restResponse) refuses() bool {
	rule, mapped := x.rule()
	return rule.Means != toolspecs.MeansAnswer && !x.leavesOpen(mapped)
}

// rule returns the meaning of the status: by the spec's rule for the number, or else for its class,
// or else the default. mapped reports whether the spec has a rule.
func (x *restResponse) rule() (rule toolspecs.StatusRule, mapped bool) {
	number := strconv.Itoa(x.status)
	for _, status := range []string{number, number[:1] + "xx"} {
		for _, r := range x.entry.Statuses {
			if r.Status == status {
				return r, true
			}
		}
	}
	switch {
	case x.isSuccess():
		return toolspecs.StatusRule{Means: toolspecs.MeansAnswer}, false
	case x.status == http.StatusTooManyRequests || x.status >= http.StatusInternalServerError:
		return toolspecs.StatusRule{Means: toolspecs.MeansRetry}, false
	}
	return toolspecs.StatusRule{Means: toolspecs.MeansFail}, false
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// failure is the error of a failed status, with the beginning of the body.
func (x *restResponse) failure(message string) error {
	text := "the server answered " + statusText(x.status) + x.quoteBody()
	if message != "" {
		text = message + ": " + text
	}
	return errors.New(text)
}

// quoteBody returns the beginning of the body as readable text after a colon, or "".
func (x *restResponse) quoteBody() string {
	text := strings.ToValidUTF8(x.hidden(x.body), "\uFFFD")
	text = strings.TrimSpace(text)
	if len(text) > bodyHead {
		text = strings.ToValidUTF8(text[:bodyHead], "") + "…"
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

// hidden returns the body without the secret.
func (x *restResponse) hidden(body []byte) string {
	if x.cut {
		return x.credential.Hider().Part(string(body))
	}
	return x.credential.Hide(string(body))
}

// output returns the answer of a successful response.
func (x *restResponse) output() (json.RawMessage, error) {
	body := bytes.TrimPrefix(x.body, []byte("\ufeff"))
	switch {
	case x.entry.Method == http.MethodHead:
		return x.headOutput()
	case len(bytes.TrimSpace(body)) == 0:
		return x.emptyOutput()
	case x.cut:
		return x.tooLong(body)
	}
	if place := x.location(); place != "" {
		x.note("the server named the address %s", place)
	}
	if x.extracts() || x.declaresJSON() || x.contentType() == "" {
		return x.json(body)
	}
	return x.text(body)
}

// json returns a body that is JSON, and any other as text: the request has succeeded, so that an
// error would be wrong, or it has failed, with a body of any format.
func (x *restResponse) json(body []byte) (json.RawMessage, error) {
	value, err := jsonvalue.Decode(body)
	if err == nil {
		return x.value(body, value)
	}
	if x.isSuccess() && (x.extracts() || x.contentType() != "") {
		x.note("the response was to be JSON, but: %v; it is returned as text", err)
	}
	return x.text(body)
}

// location returns the address that a successful response names: of what was created, or where to
// ask how it goes (RFC 9110, 10.2.2 and 15.3.3). It is empty if there is none.
func (x *restResponse) location() string {
	if !x.isSuccess() {
		return ""
	}
	place := x.credential.Hide(strings.ToValidUTF8(x.header.Get("Location"), "\uFFFD"))
	return display.Shorten(place, maxLocation)
}

// emptyOutput is the answer of a response without a body. A server that created something, or
// accepted to do it later, says so with its status and an address alone.
func (x *restResponse) emptyOutput() (json.RawMessage, error) {
	place := x.location()
	if x.extracts() || place == "" && x.status != http.StatusCreated &&
		x.status != http.StatusAccepted {
		return json.RawMessage("null"), nil
	}
	output := map[string]any{"status": x.status}
	if place != "" {
		output["location"] = place
	}
	return jsonvalue.Encode(output)
}

func (x *restResponse) contentType() string {
	kind, _, _ := mime.ParseMediaType(x.header.Get("Content-Type"))
	return kind
}

func (x *restResponse) declaresJSON() bool {
	kind := x.contentType()
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

func (x *restResponse) extracts() bool { return x.entry.Extract != "" && x.isSuccess() }

// headOutput is the answer to HEAD. It omits cookies, which may be credentials.
func (x *restResponse) headOutput() (json.RawMessage, error) {
	headers := map[string]string{}
	for name, values := range x.header {
		if name != "Set-Cookie" {
			headers[name] = x.credential.Hide(strings.ToValidUTF8(strings.Join(values, ", "),
				"\uFFFD"))
		}
	}
	return jsonvalue.Encode(map[string]any{"status": x.status, "headers": headers})
}

// value returns a JSON body, whose value is given, unchanged, or the extracted part of it.
func (x *restResponse) value(body []byte, value any) (json.RawMessage, error) {
	value, changed := x.credential.Hider().Value(value)
	if !utf8.Valid(body) {
		x.note(noteUTF8)
		changed = true
	}
	if x.extracts() {
		return x.extractValue(value)
	}
	if changed {
		return jsonvalue.Encode(value)
	}
	var b bytes.Buffer
	err := json.Compact(&b, body)
	return b.Bytes(), err
}

func (x *restResponse) extractValue(value any) (json.RawMessage, error) {
	text := x.entry.Extract
	expression, err := extract.Compile(text)
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed, "entry.extract cannot be used: %v", err)
	}
	part, found, exact, err := expression.From(value)
	if err != nil {
		return nil, api.Errorf(api.ErrInvalidOutput,
			"entry.extract does not fit the response: %s%s",
			display.Shorten(err.Error(), maxMisfit), x.quoteBody())
	}
	if !found {
		x.note("the response has nothing at %s", text)
	}
	if !exact {
		x.note("numbers of the response with more digits than a floating-point number holds were not compared")
	}
	return jsonvalue.Encode(part)
}

// tooLong returns the beginning of a body that exceeds the limit.
func (x *restResponse) tooLong(body []byte) (json.RawMessage, error) {
	if x.extracts() {
		return nil, api.Errorf(api.ErrInvalidOutput,
			"the response has more than %d bytes, so that nothing can be extracted from it; %s, or raise entry.max_response",
			x.read, x.askForLess())
	}
	whole, form := "", ""
	if x.length > 0 {
		whole = fmt.Sprintf(" of %d", x.length)
	}
	if x.declaresJSON() {
		form = ", and half of a JSON value is text"
	}
	x.note("the response was cut at %d bytes%s%s; %s", x.read, whole, form, x.askForLess())
	return x.text(wholeCharacters(body))
}

func (x *restResponse) askForLess() string {
	if names := x.spec.PagingArguments(); len(names) > 0 {
		return "ask for less at a time by " + strings.Join(names, ", ")
	}
	return "ask for less at a time"
}

// wholeCharacters removes an incomplete character from the end of a text.
func wholeCharacters(text []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if end := text[len(text)-back:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return text[:len(text)-back]
			}
			break
		}
	}
	return text
}

// text returns a body that is not JSON: text as a string, other bytes as base64.
func (x *restResponse) text(body []byte) (json.RawMessage, error) {
	body = []byte(x.hidden(body))
	switch kind := x.contentType(); {
	case utf8.Valid(body):
	case strings.HasPrefix(kind, "text/") || x.declaresJSON():
		x.note(noteUTF8)
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	default:
		x.note("the response is no text")
		return jsonvalue.Encode(map[string]string{"content_type": kind,
			"body_base64": base64.StdEncoding.EncodeToString(body)})
	}
	return jsonvalue.Encode(string(body))
}
