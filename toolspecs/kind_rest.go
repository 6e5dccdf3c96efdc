package toolspecs

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/extract"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/templates"
)

// KindREST is an HTTP API, by configuration only.
const KindREST = "rest"

// Values of RESTEntry.Encoding.
const (
	encodingJSON = "json"
	EncodingForm = "form"
	EncodingText = "text"
)

// Values of StatusRule.Means.
const (
	MeansAnswer = "answer"
	MeansRetry  = "retry"
	MeansFail   = "fail"
)

// defaultMaxResponse bounds the part of a response that is read, in bytes.
const defaultMaxResponse = 1 << 20

// RESTEntry is the entry of tools that send a request to an HTTP API.
//
// The service gets the idempotency key of the call as the header Idempotency-Key. 429, 503 and
// other 5xx, and network errors, are transient failures, all other statuses than 2xx plain ones.
type RESTEntry struct {
	// BaseURL is the address of the API, http or https, without placeholder, user, query or
	// fragment; env:NAME reads it from the worker's environment.
	BaseURL string `json:"base_url,omitempty" yaml:"base_url" rule:"required" hint:"write base_url: https://api.example.com"`
	// Method is GET (the default), HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
	Method string `json:"method,omitempty" yaml:"method" rule:"enum=GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS"`
	// Path is appended to BaseURL. An argument {{args.name}} stays within its segment: a slash is
	// escaped; an empty argument, . and .. are rejected.
	Path string `json:"path,omitempty" yaml:"path"`
	// Query and Headers map names to texts, numbers or booleans, with placeholders {{args.name}}.
	// For a value that is a placeholder alone, a list is sent as several values, and an absent or
	// null argument is omitted.
	Query   json.RawMessage `json:"query,omitempty" yaml:"query"`
	Headers json.RawMessage `json:"headers,omitempty" yaml:"headers"`
	// Body is any JSON value. A string that is a placeholder alone becomes the argument with its
	// type, and is omitted if the argument is absent.
	Body json.RawMessage `json:"body,omitempty" yaml:"body"`
	// Encoding is that of Body: json (the default), text, or form: an object as card[number]; a
	// list repeats its name, and is sent as name[] within an object or if the name ends in [].
	Encoding string `json:"encoding,omitempty" yaml:"encoding" rule:"enum=json|form|text"`
	// Auth declares which secret is sent and where: its type is bearer, basic (the secret is
	// user:password), header or query; the last two need a name. Its secret is a reference,
	// env:NAME or file:/path.
	Auth *outbound.Auth `json:"auth,omitempty" yaml:"auth" rule:"secret"`
	// Extract selects a part of a JSON response: a JSON pointer if it begins with /, else a
	// JMESPath expression. If nothing matches, the result is null with a note.
	Extract string `json:"extract,omitempty" yaml:"extract"`
	// Statuses override the meaning of response statuses. By default 2xx is an answer, 429, 503 and
	// other 5xx are retried, and every other status is a failure.
	Statuses []StatusRule `json:"statuses,omitempty" yaml:"statuses"`
	// MaxResponse bounds the part of a response that is read, after decompression, in bytes;
	// default 1 MiB. The rest is cut, with a note.
	MaxResponse int `json:"max_response,omitempty" yaml:"max_response" rule:"size,min=1,max=64MiB"`
	// Allow lists host names, addresses and ranges that may be reached besides the host of
	// base_url, and those allowed although they are loopback, private or otherwise not public.
	Allow []string `json:"allow,omitempty" yaml:"allow"`
}

// StatusRule sets the meaning of responses with some statuses.
type StatusRule struct {
	// Status is a number such as 404, or 4xx.
	Status string `json:"status" yaml:"status" rule:"required" pattern:"^[2-5](xx|[0-9][0-9])$ %q is not a response status" hint:"write a number such as 404 in quotes, or 4xx for all of its class"`
	// Means is answer, retry or fail.
	Means string `json:"means" yaml:"means" rule:"required,enum=answer|retry|fail"`
	// Message is the first text that the model gets about a failure.
	Message string `json:"message,omitempty" yaml:"message"`
}

// Name implements Kind.
func (RESTEntry) Name() string { return KindREST }

// Common implements Kind.
func (e RESTEntry) Common() Common {
	return Common{Auth: e.Auth, Address: e.BaseURL, Allow: e.Allow}
}

func (e RESTEntry) withDefaults(s *Spec) Kind {
	e.Method = cmp.Or(e.Method, http.MethodGet)
	e.MaxResponse = cmp.Or(e.MaxResponse, defaultMaxResponse)
	if e.Body != nil {
		e.Encoding = cmp.Or(e.Encoding, encodingJSON)
	}
	if outbound.Safe(e.Method) { // by HTTP's definition it only reads
		s.Execution.Effect = cmp.Or(s.Execution.Effect, api.EffectRead)
	}
	s.spreadReads()
	return e
}

func (e RESTEntry) check(c *checker, s Spec) { restChecker{requestChecker{c, false}}.rest(e, s) }

func (RESTEntry) dispatch() api.Dispatch { return api.DispatchLane }

// describeOutside implements outsideDescriber.
func (e RESTEntry) describeOutside(Spec) (writes, reads string) {
	if slices.Contains([]string{"", http.MethodGet, http.MethodHead, http.MethodOptions},
		e.Method) {
		return "", "from a REST API"
	}
	return e.Method + " to a REST API", ""
}

type restChecker struct{ requestChecker }

func (c restChecker) rest(e RESTEntry, s Spec) {
	declared := s.argumentNames()
	c.baseURL(e.BaseURL)
	c.path(e.Path, s, declared)
	for _, q := range c.templates("$.entry.query", e.Query, declared) {
		switch {
		case e.Auth != nil && e.Auth.Type == outbound.Query && e.Auth.Name == q.name:
			c.AddKey(q.path, "remove it", "auth already sets the query parameter %s", q.name)
		case q.secret():
			c.writtenSecret(q.path, "the query parameter "+q.name)
		}
	}
	c.outbound(request{e.Headers, e.Auth, e.Allow}, declared)
	c.body(e, declared)
	c.extract(e)
	c.statuses(e.Statuses)
}

func (c restChecker) baseURL(text string) {
	const path = "$.entry.base_url"
	c.address(path, text)
	if strings.ContainsAny(text, "?#") {
		c.Add(path, "put parameters under query, and a secret under auth",
			"base_url contains a query or a fragment")
	}
}

// pathText matches the text allowed in a URL's path.
var pathText = regexp.MustCompile(`^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$`)

func (c restChecker) path(text string, s Spec, declared []string) {
	const path = "$.entry.path"
	c.placeholders(path, text, declared, false)
	for _, name := range templates.Names(text) {
		kind, always := s.argument(name)
		switch {
		case !slices.Contains(declared, name):
		case kind == "array" || kind == "object":
			c.Add(path, "put it into query or body",
				"%s is of the type %s, which a path cannot contain", name, kind)
		case !always:
			c.Add(path, "give the parameter required: true or a default, or put it into query",
				"%s is part of the path, so every call must have it", name)
		}
	}
	written := placeholder.ReplaceAllString(text, "x")
	switch {
	case strings.ContainsAny(written, "?#"):
		c.Add(path, "put parameters under query", "path contains a query or a fragment")
	case !pathText.MatchString(written):
		c.Add(path, "write it percent-encoded, such as %20 for a blank",
			"path contains a character that must be percent-encoded")
	case slices.ContainsFunc(strings.Split(written, "/"), dotSegment):
		c.Add(path, "write the path without it", "path has a segment that is . or ..")
	}
}

func dotSegment(segment string) bool {
	plain, err := url.PathUnescape(segment)
	return err == nil && (plain == "." || plain == "..")
}

// argument returns the type of a declared argument and whether every call has it.
func (s Spec) argument(name string) (kind string, always bool) {
	for _, p := range s.Parameters {
		if p.Name == name {
			return p.Type, p.Required || p.Default != nil
		}
	}
	tree, err := jsontext.ParseOrdered(s.InputSchema)
	if err != nil {
		return "", false
	}
	schema := jsontext.Member[*jsontext.Object](jsontext.Member[*jsontext.Object](tree,
		"properties"), name)
	always = schema.Has("default")
	return jsontext.Member[string](schema, "type"), always ||
		slices.Contains(jsontext.Member[[]any](tree, "required"), any(name))
}

func (c restChecker) body(e RESTEntry, declared []string) {
	const path = "$.entry.body"
	if e.Body == nil {
		if e.Encoding != "" {
			c.AddKey("$.entry.encoding", "remove it, or write a body", "there is no body to encode")
		}
		return
	}
	if e.Method == http.MethodGet || e.Method == http.MethodHead {
		c.AddKey(path, "put the values into query, or choose another method",
			"a request of the method %s has no body", e.Method)
	}
	tree, err := jsontext.ParseOrdered(e.Body)
	if err != nil {
		c.Add(path, "", "the body is not JSON")
		return
	}
	c.bodyForm(e.Encoding, tree)
	c.bodyTemplates(path, tree, declared)
}

func (c restChecker) bodyForm(encoding string, tree any) {
	text, isText := tree.(string)
	_, lone := templates.Only(text)
	_, isMapping := tree.(*jsontext.Object)
	switch {
	case encoding == EncodingText && !isText:
		c.Add("$.entry.body", "write text, with {{args.name}} where an argument goes",
			"with encoding: text the body must be text")
	case encoding == EncodingForm && !isMapping && !lone:
		c.Add("$.entry.body", "write name: value, or {{args.name}} of an object",
			"with encoding: form the body must be a mapping")
	}
}

func (c restChecker) bodyTemplates(path string, tree any, declared []string) {
	switch tree := tree.(type) {
	case string:
		c.placeholders(path, tree, declared, false)
	case []any:
		for i, e := range tree {
			c.bodyTemplates(jsonpath.Index(path, i), e, declared)
		}
	case *jsontext.Object:
		for _, name := range tree.Keys {
			at := jsonpath.Key(path, name)
			if placeholder.MatchString(name) {
				c.AddKey(at, "", "a name cannot contain a placeholder")
			}
			if text, ok := tree.Members[name].(string); ok &&
				(template{name: name, text: text}).secret() {
				c.writtenSecret(at, "the field "+name)
			}
			c.bodyTemplates(at, tree.Members[name], declared)
		}
	}
}

func (c restChecker) extract(e RESTEntry) {
	if e.Extract == "" {
		return
	}
	if e.Method == http.MethodHead {
		c.AddKey("$.entry.extract", "remove it, or choose GET",
			"a response to HEAD has nothing to extract")
	}
	if _, err := extract.Compile(e.Extract); err != nil {
		c.Add("$.entry.extract",
			"write a JSON pointer such as /data/0/id, or a JMESPath expression such as data[0].id",
			"%v", err)
	}
}

func (c restChecker) statuses(rules []StatusRule) {
	seen := map[string]bool{}
	for i, r := range rules {
		if seen[r.Status] && r.Status != "" {
			c.Add(jsonpath.Index("$.entry.statuses", i)+".status", "keep one of them",
				"there is another rule for %s", r.Status)
		}
		seen[r.Status] = true
	}
}

// pagingNames are common names of paging parameters, in lower case and without underscores.
var pagingNames = []string{"after", "before", "count", "cursor", "end", "endingbefore", "first",
	"fields", "from", "last", "limit",
	"maxresults", "offset", "page", "pagenumber", "pagesize", "pagetoken", "perpage", "range",
	"select", "since", "size", "skip",
	"start", "startingafter", "take", "to", "top", "until"}

// PagingArguments returns the declared arguments whose names indicate paging.
func (s Spec) PagingArguments() []string {
	var names []string
	for _, name := range s.argumentNames() {
		plain := strings.ToLower(strings.NewReplacer("_", "", "-", "", "$", "").Replace(name))
		if slices.Contains(pagingNames, plain) {
			names = append(names, name)
		}
	}
	return names
}
