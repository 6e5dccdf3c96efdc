package payloads

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// signer signs requests to S3 with AWS's signature, version 4, in headers.
type signer struct{ region, id, secret, token string }

const (
	signAlgorithm = "AWS4-HMAC-SHA256"
	signTime      = "20060102T150405Z"
	signDay       = "20060102"
)

// sign signs a request whose path needs no escaping and which has no query. hash is the SHA-256 of its body, in hex. All
// headers that it has are signed.
func (s signer) sign(req *http.Request, hash string, now time.Time) {
	now = now.UTC()
	req.Header.Set("X-Amz-Date", now.Format(signTime))
	req.Header.Set("X-Amz-Content-Sha256", hash)
	if s.token != "" {
		req.Header.Set("X-Amz-Security-Token", s.token)
	}
	headers := map[string]string{"host": req.URL.Host}
	for name, values := range req.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	names := slices.Sorted(maps.Keys(headers))
	canonical := req.Method + "\n" + req.URL.EscapedPath() + "\n\n"
	for _, name := range names {
		canonical += name + ":" + strings.TrimSpace(headers[name]) + "\n"
	}
	signed := strings.Join(names, ";")
	canonical += "\n" + signed + "\n" + hash
	scope := strings.Join([]string{now.Format(signDay), s.region, "s3", "aws4_request"}, "/")
	text := strings.Join([]string{signAlgorithm, now.Format(signTime), scope, keyOf([]byte(canonical))}, "\n")
	key := []byte("AWS4" + s.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = authenticate(key, part)
	}
	req.Header.Set("Authorization", signAlgorithm+" Credential="+s.id+"/"+scope+",SignedHeaders="+signed+",Signature="+hex.EncodeToString(authenticate(key, text)))
}

func authenticate(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
