package toolspecs

import (
	"cmp"
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
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/templates"
)

// Values of Entry.Encoding.
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

// restKind is the kind of tools that send a request to an HTTP API.
type restKind struct{}

func (restKind) setDefaults(s *Spec) {
	e := &s.Entry
	e.Method = cmp.Or(e.Method, http.MethodGet)
	e.MaxResponse = cmp.Or(e.MaxResponse, defaultMaxResponse)
	if e.Body != nil {
		e.Encoding = cmp.Or(e.Encoding, encodingJSON)
	}
	if outbound.Safe(e.Method) { // by HTTP's definition it only reads
		s.Execution.Effect = cmp.Or(s.Execution.Effect, api.EffectRead)
	}
	s.spreadReads()
}

func (restKind) check(c *checker, s Spec) { restChecker{requestChecker{c, false}}.rest(s) }

func (restKind) dispatch(Entry) api.Dispatch { return api.DispatchLane }

type restChecker struct{ requestChecker }

func (c restChecker) rest(s Spec) {
	e, declared := s.Entry, s.argumentNames()
	c.method(e.Method)
	c.baseURL(e.BaseURL)
	c.path(s, declared)
	for _, q := range c.templates("$.entry.query", e.Query, declared) {
		switch {
		case e.Auth != nil && e.Auth.Type == outbound.Query && e.Auth.Name == q.name:
			c.AddKey(q.path, "remove it", "auth already sets the query parameter %s", q.name)
		case q.secret():
			c.writtenSecret(q.path, "the query parameter "+q.name)
		}
	}
	c.outbound(e, declared)
	c.body(e, declared)
	c.extract(e)
	c.statuses(e.Statuses)
}

// methods are the HTTP methods of requests.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodOptions}

func (c restChecker) method(name string) {
	if !slices.Contains(methods, name) {
		c.Add("$.entry.method", spelling.Hint(name, methods), "method is %q; it must be one of %s",
			name, strings.Join(methods, ", "))
	}
}

func (c restChecker) baseURL(text string) {
	const path = "$.entry.base_url"
	if text == "" {
		c.Add(path, "write base_url: https://api.example.com", "a REST tool needs a base_url")
		return
	}
	c.address(path, text)
	if strings.ContainsAny(text, "?#") {
		c.Add(path, "put parameters under query, and a secret under auth",
			"base_url contains a query or a fragment")
	}
}

// pathText matches the text allowed in a URL's path.
var pathText = regexp.MustCompile(`^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$`)

func (c restChecker) path(s Spec, declared []string) {
	const path = "$.entry.path"
	text := s.Entry.Path
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

func (c restChecker) body(e Entry, declared []string) {
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

func (c restChecker) extract(e Entry) {
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

var statusRule = regexp.MustCompile(`^[2-5](xx|[0-9][0-9])$`)

func (c restChecker) statuses(rules []StatusRule) {
	seen := map[string]bool{}
	for i, r := range rules {
		path := jsonpath.Index("$.entry.statuses", i) + ".status"
		switch {
		case r.Status == "":
		case !statusRule.MatchString(r.Status):
			c.Add(path, "write a number such as 404 in quotes, or 4xx for all of its class",
				"%q is not a response status", r.Status)
		case seen[r.Status]:
			c.Add(path, "keep one of them", "there is another rule for %s", r.Status)
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
