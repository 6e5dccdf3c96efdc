package tools

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
)

// maxStringOutput bounds the result of an operation, in bytes.
const maxStringOutput = 1 << 20

// maxMatches bounds the matches of regex_match and the parts of split.
const maxMatches = 10_000

type stringInput struct {
	Operation   string   `json:"operation"`
	Text        string   `json:"text,omitempty"`
	Separator   *string  `json:"separator,omitempty"`
	Parts       []string `json:"parts,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	Old         string   `json:"old,omitempty"`
	Replacement string   `json:"replacement,omitempty"`
	Characters  string   `json:"characters,omitempty"`
	Start       int      `json:"start,omitempty"`
	Length      *int     `json:"length,omitempty"`
}

type stringOutput struct {
	Result any `json:"result"`
}

// counts is the result of the operation count.
type counts struct {
	Characters int `json:"characters"`
	Bytes      int `json:"bytes"`
	Words      int `json:"words"`
	Lines      int `json:"lines"`
}

// match is one match of a regular expression. Groups are its capturing groups.
type match struct {
	Text string `json:"text"`
	// Start counts characters from 0.
	Start  int      `json:"start"`
	Groups []string `json:"groups,omitempty"`
}

var stringOperations = map[string]func(stringInput) (any, error){
	"length": func(in stringInput) (any, error) {
		return utf8.RuneCountInString(in.Text), nil
	},
	"upper":         func(in stringInput) (any, error) { return strings.ToUpper(in.Text), nil },
	"lower":         func(in stringInput) (any, error) { return strings.ToLower(in.Text), nil },
	"trim":          trim,
	"split":         split,
	"join":          join,
	"replace":       replace,
	"regex_match":   regexMatch,
	"regex_replace": regexReplace,
	"count":         count,
	"substring":     substring,
	"reverse":       reverse,
	"base64_encode": func(in stringInput) (any, error) {
		return base64.StdEncoding.EncodeToString([]byte(in.Text)), nil
	},
	"base64_decode": base64Decode,
	"sha256":        sha256Hex,
	"slug":          slug,
}

// stringTool returns the tool for texts. Positions and lengths count characters (Unicode code
// points). Regular expressions are RE2 and match in linear time.
func stringTool() tool.Function {
	return tool.NewFunction("string", func(_ context.Context, in stringInput) (stringOutput,
		error) {
		operation, ok := stringOperations[in.Operation]
		if !ok {
			return stringOutput{}, invalid("operation", "%q is not an operation; there are %s",
				in.Operation, keys(stringOperations))
		}
		result, err := operation(in)
		return stringOutput{Result: result}, err
	})
}

func keys[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

func tooLong() error {
	return api.Errorf(api.ErrExecution, "the result would have more than %d bytes; work on a "+
		"part of the text", maxStringOutput)
}

func trim(in stringInput) (any, error) {
	if in.Characters != "" {
		return strings.Trim(in.Text, in.Characters), nil
	}
	return strings.TrimSpace(in.Text), nil
}

// split splits at the separator: without one at runs of white space, with an empty one into
// characters.
func split(in stringInput) (any, error) {
	if in.Separator == nil {
		return bounded(strings.Fields(in.Text))
	}
	return bounded(strings.SplitN(in.Text, *in.Separator, maxMatches+1))
}

func bounded[T any](parts []T) (any, error) {
	if len(parts) > maxMatches {
		return nil, api.Errorf(api.ErrExecution, "there are more than %d parts; work on a part "+
			"of the text", maxMatches)
	}
	return parts, nil
}

func join(in stringInput) (any, error) {
	separator := ""
	if in.Separator != nil {
		separator = *in.Separator
	}
	size := len(separator) * len(in.Parts)
	for _, p := range in.Parts {
		size += len(p)
	}
	if size > maxStringOutput {
		return nil, tooLong()
	}
	return strings.Join(in.Parts, separator), nil
}

func replace(in stringInput) (any, error) {
	if in.Old == "" {
		return nil, invalid("old", "the text to replace is empty")
	}
	if n := strings.Count(in.Text,
		in.Old); len(in.Text)+n*(len(in.Replacement)-len(in.Old)) > maxStringOutput {
		return nil, tooLong()
	}
	return strings.ReplaceAll(in.Text, in.Old, in.Replacement), nil
}

func compile(in stringInput) (*regexp.Regexp, error) {
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return nil,
			invalid("pattern", "the pattern cannot be read: %v; patterns are RE2, without "+
				"look-around and back-references", err)
	}
	return re, nil
}

func regexMatch(in stringInput) (any, error) {
	re, err := compile(in)
	if err != nil {
		return nil, err
	}
	matches := []match{}
	position, characters := 0, 0
	for _, m := range re.FindAllStringSubmatchIndex(in.Text, maxMatches+1) {
		characters += utf8.RuneCountInString(in.Text[position:m[0]])
		position = m[0]
		found := match{Text: in.Text[m[0]:m[1]], Start: characters}
		for i := 2; i < len(m); i += 2 {
			found.Groups = append(found.Groups, in.Text[max(m[i], 0):max(m[i+1], 0)])
		}
		matches = append(matches, found)
	}
	return bounded(matches)
}

// regexReplace stops as soon as the result is too long: $1$1$1… multiplies a text.
func regexReplace(in stringInput) (any, error) {
	re, err := compile(in)
	if err != nil {
		return nil, err
	}
	var out []byte
	position := 0
	for _, m := range re.FindAllStringSubmatchIndex(in.Text, -1) {
		out = append(out, in.Text[position:m[0]]...)
		out = re.ExpandString(out, in.Replacement, in.Text, m)
		if len(out) > maxStringOutput {
			return nil, tooLong()
		}
		position = m[1]
	}
	return string(append(out, in.Text[position:]...)), nil
}

func count(in stringInput) (any, error) {
	lines := strings.Count(in.Text, "\n")
	if in.Text != "" && !strings.HasSuffix(in.Text, "\n") {
		lines++
	}
	return counts{Characters: utf8.RuneCountInString(in.Text), Bytes: len(in.Text),
		Words: len(strings.Fields(in.Text)), Lines: lines}, nil
}

// substring takes length characters from start. A negative start counts from the end. A range
// outside the text is empty.
func substring(in stringInput) (any, error) {
	runes := []rune(in.Text)
	start := in.Start
	if start < 0 {
		start = max(len(runes)+start, 0)
	}
	start = min(start, len(runes))
	end := len(runes)
	if in.Length != nil {
		if *in.Length < 0 {
			return nil, invalid("length", "the length is negative")
		}
		end = start + min(*in.Length, len(runes)-start)
	}
	return string(runes[start:end]), nil
}

// reverse keeps combining marks and joined emoji behind their character.
func reverse(in stringInput) (any, error) {
	runes := []rune(in.Text)
	var out strings.Builder
	for end := len(runes); end > 0; {
		start := end - 1
		for start > 0 && joined(runes[start-1], runes[start]) {
			start--
		}
		out.WriteString(string(runes[start:end]))
		end = start
	}
	return out.String(), nil
}

const zeroWidthJoiner = '\u200d'

func joined(before, r rune) bool {
	return unicode.In(r, unicode.M) || r == zeroWidthJoiner || before == zeroWidthJoiner ||
		r >= 0x1F3FB && r <= 0x1F3FF || before == '\r' && r == '\n'
}

func base64Decode(in stringInput) (any, error) {
	text := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r",
		"").Replace(in.Text), "=")
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, invalid("text", "the text is not base64: %v", err)
	}
	if !utf8.Valid(data) {
		return nil, api.Errorf(api.ErrExecution, "the decoded data is not text in UTF-8")
	}
	return string(data), nil
}

func sha256Hex(in stringInput) (any, error) {
	sum := sha256.Sum256([]byte(in.Text))
	return hex.EncodeToString(sum[:]), nil
}

// slug converts a text to a name for URLs and files: lower-case letters and digits, other
// characters collapsed to one hyphen.
func slug(in stringInput) (any, error) {
	parts := strings.FieldsFunc(strings.ToLower(in.Text), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M)
	})
	return strings.Join(parts, "-"), nil
}
