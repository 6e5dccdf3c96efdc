package cli

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

func AttributeText(p *commonpb.Payload) string { return AttributeValue[string](p) }

// AttributeValue decodes a search attribute or a memo field. It returns the zero value if the
// payload is missing or of another type.
func AttributeValue[T any](p *commonpb.Payload) (v T) {
	if p == nil || converter.GetDefaultDataConverter().FromPayload(p, &v) != nil {
		var none T
		return none
	}
	return v
}
