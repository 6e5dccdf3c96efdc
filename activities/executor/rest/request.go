package rest

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/core/traceparent"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/templates"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// filling fills the templates of one request and collects arguments that do not fit.
type filling struct {
	values   map[string]any
	problems []api.Problem
}

func (f *filling) refuse(argument, rule, message string) {
	f.problems = append(f.problems, api.Problem{Path: jsonvalue.KeyPath("$", argument), Rule: rule,
		Message: message})
}

// newRESTRequest returns the request of a call, without its secret.
func newRESTRequest(ctx context.Context, e *toolspecs.RESTEntry,
	args json.RawMessage) (*http.Request, error) {
	values, err := templates.Values(args)
	if err != nil {
		return nil, err
	}
	f := filling{values: values}
	address := f.address(e)
	header := f.header(ctx, e)
	body, contentType := f.body(e)
	if len(f.problems) > 0 {
		refused := api.Errorf(api.ErrValidation, "the arguments cannot be put into the request")
		refused.Problems = f.problems
		return nil, refused
	}
	req, err := http.NewRequestWithContext(ctx, e.Method, address, body)
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed,
			"entry.base_url and entry.path make no URL")
	}
	if contentType != "" && header.Get("Content-Type") == "" {
		header.Set("Content-Type", contentType)
	}
	req.Header = header
	return req, nil
}

// address returns the whole URL. Arguments in the path are escaped, so that they stay within their
// segment.
func (f *filling) address(e *toolspecs.RESTEntry) string {
	address := e.BaseURL
	if e.Path != "" {
		address = strings.TrimSuffix(address, "/") + "/" + strings.TrimPrefix(f.path(e.Path), "/")
	}
	query := url.Values{}
	for name, value := range decodeMembers(e.Query) {
		if texts := f.texts(value); texts != nil {
			query[name] = texts
		}
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

func (f *filling) path(template string) string {
	for _, name := range templates.Names(template) {
		f.checkSegment(name)
	}
	text, _ := templates.Fill(template, f.values,
		func(v any) string { return url.PathEscape(jsonvalue.Text(v)) })
	return text
}

// checkSegment rejects values that a path cannot contain, and segments of dots, which escaping
// leaves unchanged and servers resolve to another path.
func (f *filling) checkSegment(name string) {
	switch value := f.values[name].(type) {
	case nil:
		f.refuse(name, api.RuleRequired, "it is a part of the path and cannot be left out")
	case map[string]any, []any:
		f.refuse(name, "path", "it is a part of the path, which takes text, a number or a boolean")
	case string:
		if value == "" || value == "." || value == ".." {
			f.refuse(name, "path",
				"it is a part of the path and would lead to another place: it cannot be empty, . or ..")
		}
	}
}

// texts returns the values of one query parameter, header or form field: none for an absent or null
// argument, and one for each element of a list.
func (f *filling) texts(template any) []string {
	text, ok := template.(string)
	if !ok {
		return toTexts(template)
	}
	if name, only := templates.Only(text); only {
		return toTexts(f.values[name])
	}
	filled, _ := templates.Fill(text, f.values, plainText)
	return []string{filled}
}

func toTexts(value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var texts []string
	for _, e := range list {
		if e != nil {
			texts = append(texts, jsonvalue.Text(e))
		}
	}
	return texts
}

func plainText(value any) string {
	if value == nil {
		return ""
	}
	return jsonvalue.Text(value)
}

// header returns the request's headers, including the call's idempotency key.
func (f *filling) header(ctx context.Context, e *toolspecs.RESTEntry) http.Header {
	header := http.Header{"User-Agent": {"switchyard"}, "Accept": {"application/json, */*;q=0.8"}}
	for name, template := range decodeMembers(e.Headers) {
		texts := f.texts(template)
		if texts == nil {
			continue
		}
		if slices.ContainsFunc(texts,
			func(text string) bool { return !outbound.FitsHeader(text) }) {
			source, _ := template.(string)
			for _, argument := range templates.Names(source) {
				f.refuse(argument, "header",
					"it goes into a header, which holds no line end and no other control character")
			}
		}
		header[http.CanonicalHeaderKey(name)] = texts
	}
	if call, ok := callcontext.From(ctx); ok {
		header.Set("Idempotency-Key", call.Key)
		if header.Get("Traceparent") == "" {
			header.Set("Traceparent", traceparent.Format(call.Origin, call.CallID))
		}
	}
	return header
}

// body returns the request's body and its content type; nil if there is none.
func (f *filling) body(e *toolspecs.RESTEntry) (io.Reader, string) {
	if e.Body == nil {
		return nil, ""
	}
	template, err := jsonvalue.Decode(e.Body)
	if err != nil {
		return nil, ""
	}
	value, keep := f.value(template)
	if !keep {
		return nil, ""
	}
	switch e.Encoding {
	case toolspecs.EncodingText:
		return strings.NewReader(plainText(value)), "text/plain; charset=utf-8"
	case toolspecs.EncodingForm:
		form := url.Values{}
		fields, ok := value.(map[string]any)
		if name, only := templates.Only(jsonvalue.Text(template)); only && !ok {
			f.refuse(name, "form", "it is sent as a form, so it must be an object")
		}
		for name, field := range fields {
			addField(form, name, field)
		}
		return strings.NewReader(form.Encode()), "application/x-www-form-urlencoded"
	}
	// A decoded JSON value can always be encoded.
	data, _ := jsonvalue.Encode(value)
	return strings.NewReader(string(data)), "application/json"
}

// value fills the strings of a JSON value. It omits a member or element that consists of the
// placeholder of an absent argument.
func (f *filling) value(template any) (value any, keep bool) {
	switch template := template.(type) {
	case string:
		if name, only := templates.Only(template); only {
			value, keep = f.values[name]
			return value, keep
		}
		filled, _ := templates.Fill(template, f.values, plainText)
		return filled, true
	case []any:
		list := make([]any, 0, len(template))
		for _, e := range template {
			if item, keep := f.value(e); keep {
				list = append(list, item)
			}
		}
		return list, true
	case map[string]any:
		object := make(map[string]any, len(template))
		for name, e := range template {
			if member, keep := f.value(e); keep {
				object[name] = member
			}
		}
		return object, true
	}
	return template, true
}

// addField adds one field of a form: objects and lists of objects become fields such as
// card[number] and items[0][price]. A list of plain values repeats the field: as name=a&name=b, or
// as name[]=a&name[]=b if the name ends in [] or is inside another value, where it would be
// ambiguous otherwise.
func addField(form url.Values, name string, value any) {
	bare := strings.TrimSuffix(name, "[]")
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			addField(form, inner(bare, key, value[key]), value[key])
		}
	case []any:
		for i, e := range value {
			switch e.(type) {
			case map[string]any, []any:
				addField(form, inner(bare, jsonvalue.Text(i), e), e)
			case nil:
			default:
				form.Add(name, jsonvalue.Text(e))
			}
		}
	default:
		form.Add(bare, jsonvalue.Text(value))
	}
}

// inner returns the name of a field inside another one.
func inner(name, key string, value any) string {
	name += "[" + key + "]"
	if _, list := value.([]any); list {
		name += "[]"
	}
	return name
}

// decodeMembers returns the members of a JSON object; none for empty input.
func decodeMembers(object json.RawMessage) map[string]any {
	if object == nil {
		return nil
	}
	value, err := jsonvalue.Decode(object)
	if err != nil {
		return nil
	}
	members, _ := value.(map[string]any)
	return members
}
