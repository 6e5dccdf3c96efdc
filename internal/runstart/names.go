package runstart

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/user"
)

// CurrentUser returns the name of the user of this process; "unknown" if it has none.
func CurrentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"), "unknown")
}

// RandomHex returns a random text of two hexadecimal digits for each byte, for IDs of runs and of
// requests.
func RandomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
