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

// Renew records the content of a file that a command changed, unless people have edited it before.
func Renew(before, after []byte) []byte {
	record, imported := ReadRecord(before)
	if !imported || record.Edited {
		return after
	}
	return recordLine.ReplaceAll(after, []byte(newRecord(after, record.Source)))
}

// versionPart matches the version at the end of a title.
var versionPart = regexp.MustCompile(` v?[0-9]\S*$`)

// sourceDigest identifies where a tool comes from, in this version or another one: its MCP server,
// or the document with the title. It is empty for a document without a title.
func sourceDigest(title string, s toolspecs.Spec) string {
	source := versionPart.ReplaceAllString(title, "")
	if e, ok := s.Entry.Kind.(toolspecs.MCPEntry); ok {
		source = e.ServerDigest()
		if e.Server != "" {
			source = "server " + e.Server
		}
	}
	if source == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:4])
}
