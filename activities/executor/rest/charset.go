package rest

import (
	"bytes"
	"cmp"
	"mime"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decodeBody turns the body into UTF-8: from the charset of the response's type, by its labels in
// the Encoding Standard, or from UTF-16 that a byte order mark shows. Bodies that are no text stay
// as they are: some servers add a charset to pictures.
func (x *restResponse) decodeBody() {
	if !x.isText() {
		return
	}
	_, parameters, _ := mime.ParseMediaType(x.header.Get("Content-Type"))
	label := cmp.Or(parameters["charset"], "utf-8")
	encoding, err := htmlindex.Get(label)
	if err != nil {
		x.note("the charset %q of the response is not known; it was read as UTF-8", label)
		return
	}
	marked := bytes.HasPrefix(x.body, []byte("\xfe\xff")) ||
		bytes.HasPrefix(x.body, []byte("\xff\xfe"))
	if name, _ := htmlindex.Name(encoding); name == "utf-8" && !marked {
		return // wrong bytes get a note
	}
	decoder := unicode.BOMOverride(encoding.NewDecoder())
	body, _, err := transform.Bytes(decoder, x.body)
	if err != nil {
		x.note("the response could not be read as %s: %v", label, err)
		return
	}
	if x.cut { // within a character, perhaps
		body = bytes.TrimRight(body, "\uFFFD")
	}
	x.body = body
}

// isText reports whether the response's type is one of text. A body without a type may be.
func (x *restResponse) isText() bool {
	kind := x.contentType()
	return kind == "" || strings.HasPrefix(kind, "text/") || x.declaresJSON() ||
		strings.HasSuffix(kind, "xml") || kind == "application/x-www-form-urlencoded"
}
