// Package secretname tells from a name whether its value is a secret.
package secretname

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// boundary matches where a word in camel case begins.
	boundary = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	// secretWord matches the words of a name that mean a secret.
	secretWord = regexp.MustCompile(`^(.*(password|passwd|passphrase|pwd|secret|token|credential|` +
		`cookie)s?|(api|access|auth|client|private|secret|session|service|signing)?keys?\d*|` +
		`\w{0,5}pass|jwt|auth|authorization|pat)$`)
	// about are last words of names for facts about a secret, such as TOKEN_URL and KEY_FILE.
	about = []string{"url", "uri", "endpoint", "host", "port", "file", "path", "dir", "folder",
		"name", "type", "mode", "method", "scheme", "provider", "ttl", "timeout", "expiry", "length",
		"size", "limit", "count", "enabled", "version", "algorithm", "format", "prefix"}
	// plainKey matches keys that are no secrets, tokens of pages, and numbers of a model's tokens.
	plainKey = regexp.MustCompile(`(^| )((public|primary|foreign|sort|order|partition|cache|group|` +
		`idempotency|routing|object|project|issue|row) keys?|(max|min|num|total|input|output|prompt|` +
		`completion|thinking|new|page|next|continuation|sync) tokens?|bypass|compass)$`)
)

// Matches reports whether a variable, header, query parameter, flag or field of that name holds a
// secret, as far as the name tells: one of its words is key, token, secret, auth, jwt, cookie or a
// form of password or credential. Words end at characters that are neither letters nor digits and
// at capitals after small letters. PWD and OLDPWD, the working folders of shells, hold none.
func Matches(name string) bool {
	if name == "PWD" || name == "OLDPWD" {
		return false
	}
	spaced := strings.ToLower(boundary.ReplaceAllString(name, "$1 $2"))
	words := strings.FieldsFunc(spaced, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if len(words) == 0 || slices.Contains(about, words[len(words)-1]) ||
		plainKey.MatchString(strings.Join(words, " ")) {
		return false
	}
	return slices.ContainsFunc(words, secretWord.MatchString)
}
