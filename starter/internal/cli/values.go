package cli

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

func AttributeText(p *commonpb.Payload) string { return AttributeValue[string](p) }

// AttributeValue reads a search attribute or a field of a memo; the zero value where there is none, or one
// of another type.
func AttributeValue[T any](p *commonpb.Payload) (v T) {
	if p == nil || converter.GetDefaultDataConverter().FromPayload(p, &v) != nil {
		var none T
		return none
	}
	return v
}
