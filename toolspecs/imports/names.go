package imports

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/switchyard/switchyard/api"
)

var (
	noName     = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	noArgument = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)
	argument   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// maxStem leaves room for a suffix in a name.
const maxStem = api.MaxToolName - 1 - suffixDigits

const suffixDigits = 6

// suffix distinguishes equal names. It is derived from what a part is, not from its position, so
// that importing the document or its next version again gives the same names.
func suffix(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(sum[:])[:suffixDigits]
}

// legal brings a name into the form that tools have. It may be empty.
func legal(name string) string { return strings.Trim(noName.ReplaceAllString(name, "_"), "_") }

// wanted is a proposed tool name: the preferred name, and an identification that is unique in the
// document.
type wanted struct{ name, identity string }

// numbered tells parts that have nothing but their names from each other by how many of the name
// come before.
func numbered(names []string) []wanted {
	parts := make([]wanted, len(names))
	earlier := map[string]int{}
	for i, name := range names {
		parts[i] = wanted{name, fmt.Sprintf("%s %d", name, earlier[name])}
		earlier[name]++
	}
	return parts
}

// toolNames returns valid tool names that differ even on case-insensitive file systems. Valid names
// stay; names that are too long or taken get a suffix.
func toolNames(parts []wanted) []string {
	names := make([]string, len(parts))
	owner := map[string]int{}
	for i, p := range parts {
		names[i] = legal(p.name)
		if names[i] == "" {
			names[i] = "tool"
		}
		key := strings.ToLower(names[i])
		first, taken := owner[key]
		if asItStands := names[i] == p.name; !taken || asItStands &&
			names[first] != parts[first].name {
			owner[key] = i
		}
	}
	for i, p := range parts {
		if len(names[i]) > api.MaxToolName || owner[strings.ToLower(names[i])] != i {
			names[i] = strings.TrimRight(names[i][:min(len(names[i]), maxStem)], "_-") + "_" +
				suffix(p.identity)
		}
	}
	return names
}

// argumentNames assigns valid and distinct names to the arguments of one tool, by lower-case name.
type argumentNames map[string]bool

// name returns the argument's name. A taken name gets a prefix with the argument's location.
func (taken argumentNames) name(wanted, where string) string {
	name := wanted
	if !argument.MatchString(name) {
		name = strings.Trim(noArgument.ReplaceAllString(name, "_"), "_")
		name = name[:min(len(name), 64)]
	}
	if name == "" {
		name = where
	}
	free := name
	for n := 1; taken[strings.ToLower(free)]; n++ {
		free = where + "_" + name
		if n > 1 {
			free = fmt.Sprintf("%s_%s%d", where, name, n)
		}
		free = free[:min(len(free), 64)]
	}
	taken[strings.ToLower(free)] = true
	return free
}

// envName is the environment variable for a secret of that name: petstore_auth and petstoreAuth
// give PETSTORE_AUTH.
func envName(name string) string {
	var b strings.Builder
	var last rune
	for _, r := range legal(name) {
		if unicode.IsUpper(r) && (unicode.IsLower(last) || unicode.IsDigit(last)) {
			b.WriteByte('_')
		}
		if r == '-' {
			r = '_'
		}
		b.WriteRune(unicode.ToUpper(r))
		last = r
	}
	text := b.String()
	if text == "" || unicode.IsDigit(rune(text[0])) {
		text = "SECRET_" + text
	}
	return strings.Trim(text, "_")
}
