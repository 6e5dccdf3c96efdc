package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Digest returns a digest of data, 16 characters, for comparing content. It is not for security.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// appendField writes the length before the text, so that different lists of fields give different
// bytes.
func appendField(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

// CallDigest identifies what a call asks for: tool and arguments, regardless of formatting and of
// the execution plan.
func CallDigest(tool, arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if value, err := jsonvalue.Decode([]byte(arguments)); err == nil {
		if object, ok := value.(map[string]any); ok {
			delete(object, PlanArgument)
		}
		if data, err := jsonvalue.Encode(value); err == nil {
			arguments = string(data)
		}
	}
	return Digest([]byte(fmt.Sprintf("%q %q", tool, arguments)))
}

// NextChain returns the digest of a conversation with digest chain after one more message.
func NextChain(chain, messageDigest string) string {
	return Digest(appendField(appendField(make([]byte, 0, 64), chain), messageDigest))
}
