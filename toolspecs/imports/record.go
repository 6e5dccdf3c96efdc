package imports

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"github.com/switchyard/switchyard/toolspecs"
)

// Record is what the comment "# Imported:" of an imported file says of its import.
type Record struct {
	// content identifies the file as it was imported.
	content string
	// Source identifies where the file was imported from; empty if unknown.
	Source string
	// Edited is set if the file was changed since.
	Edited bool
}

var recordLine = regexp.MustCompile(
	`(?m)^# Imported: ([0-9a-f]{16})(?: from ([0-9a-f]{8}))? .*\r?\n`)

// newRecord returns the line that records the import of a file.
func newRecord(content []byte, source string) string {
	line := "# Imported: " + contentDigest(content)
	if source != "" {
		line += " from " + source
	}
	return line + " (tells whether the file was edited since)\n"
}

// contentDigest identifies the content of a file without its record, whatever its line ends.
func contentDigest(data []byte) string {
	plain := recordLine.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), nil)
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:8])
}

// ReadRecord returns the record of an imported file; false if no import wrote it.
func ReadRecord(data []byte) (Record, bool) {
	m := recordLine.FindSubmatch(data)
	if m == nil {
		return Record{}, false
	}
	return Record{content: string(m[1]), Source: string(m[2]),
		Edited: contentDigest(data) != string(m[1])}, true
}

// Same reports whether two files were imported with equal content.
func (r Record) Same(other Record) bool { return r.content == other.content }

// SameSource reports whether two files were imported from one source, as far as it is known.
func (r Record) SameSource(other Record) bool {
	return r.Source != "" && r.Source == other.Source
}

// Renew records the content of a file that a command changed, unless people have edited it before.
func Renew(before, after []byte) []byte {
	record, imported := ReadRecord(before)
	if !imported || record.Edited {
		return after
	}
	return recordLine.ReplaceAll(after, []byte(newRecord(after, record.Source)))
}

// sourceDigest identifies where a tool comes from: its MCP server, or the document. It is empty if
// the source is unknown.
func sourceDigest(document string, s toolspecs.Spec) string {
	if e, ok := s.Entry.Kind.(toolspecs.MCPEntry); ok {
		document = e.ServerDigest()
		if e.Server != "" {
			document = "server " + e.Server
		}
	}
	if document == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(document))
	return hex.EncodeToString(sum[:4])
}
