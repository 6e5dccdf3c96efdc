package rest

import (
	"bytes"
	"cmp"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/switchyard/switchyard/internal/value/display"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decodeBody turns the body into UTF-8: from the charset of the response's type, by its labels in
// the Encoding Standard, or from UTF-16 that a byte order mark shows. Bodies that are no text stay
// as they are: some servers add a charset to pictures. So does JSON in UTF-8, the only charset that
// it may have (RFC 8259, 8.1), whatever the server declares.
func (x *restResponse) decodeBody() {
	_, parameters, _ := mime.ParseMediaType(x.header.Get("Content-Type"))
	label := display.Shorten(cmp.Or(parameters["charset"], utf8Name), maxLabel)
	if x.isText() && (isUTF16(x.body) ||
		label != utf8Name && !(x.declaresJSON() && utf8.Valid(x.body))) {
		x.decodeFrom(label)
	}
}

// decodeFrom turns the body into UTF-8 from the charset with a label.
func (x *restResponse) decodeFrom(label string) {
	charset, err := htmlindex.Get(label)
	if err != nil || charset == encoding.Replacement {
		x.note("the charset %q of the response is not supported; it was read as UTF-8", label)
		return
	}
	if name, _ := htmlindex.Name(charset); name == utf8Name && !isUTF16(x.body) {
		return // wrong bytes get a note
	}
	body, _, err := transform.Bytes(unicode.BOMOverride(charset.NewDecoder()), x.body)
	if err != nil {
		x.note("the response could not be read as %s: %v", label, err)
		return
	}
	if x.cut { // within a character, perhaps
		body = bytes.TrimRight(body, "\uFFFD")
	}
	if bytes.ContainsRune(body, utf8.RuneError) {
		x.note("bytes of the response that %s does not have were replaced by U+FFFD", label)
	}
	x.body = body
}

// isUTF16 reports whether a text begins with a byte order mark of UTF-16.
func isUTF16(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\xfe\xff")) || bytes.HasPrefix(text, []byte("\xff\xfe"))
}

const utf8Name = "utf-8"

// maxLabel bounds the name of a charset, in characters.
const maxLabel = 40

// isText reports whether the response's type is one of text. A body without a type may be.
func (x *restResponse) isText() bool {
	kind := x.contentType()
	return kind == "" || strings.HasPrefix(kind, "text/") || x.declaresJSON() ||
		strings.HasSuffix(kind, "xml") || kind == "application/x-www-form-urlencoded"
}
