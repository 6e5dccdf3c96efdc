package operate

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/switchyard/switchyard/starter/cli"
)

// codec asks the remote codec of the connection for nothing, if there is one.
func (d *doctor) codec(ctx context.Context) ([]finding, error) {
	endpoint, authorization := d.app.Connection.Codec()
	if endpoint == "" {
		return nil, nil
	}
	if err := askCodec(ctx, endpoint, authorization, d.namespace); err != nil {
		return []finding{{markBad, fmt.Sprintf("the codec server at %s does not decode: %v",
			endpoint, err), "start it (" + d.app.Connection.Program() +
			" codec), or correct TEMPORAL_CODEC_ENDPOINT or codec.endpoint in the profile"}}, nil
	}
	return []finding{{markGood, "the codec server at " + endpoint + " answers", ""}}, nil
}

// askCodec sends an empty list to a remote codec. It accepts any 2xx answer.
func askCodec(ctx context.Context, endpoint, authorization, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, cli.ConnectTimeout)
	defer cancel()
	url := strings.TrimSuffix(strings.ReplaceAll(endpoint, "{namespace}", namespace), "/") +
		"/decode"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url,
		strings.NewReader(`{"payloads":[]}`))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Namespace", namespace)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}
