package operate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/runstart/attributes"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

func (d *doctor) server(ctx context.Context) ([]finding, error) {
	info, err := d.client.WorkflowService().GetClusterInfo(ctx,
		&workflowservice.GetClusterInfoRequest{})
	if err != nil && connection.Code(err) != 0 && cli.Unreachable(err) {
		return nil, err
	}
	text := "the server at " + d.app.Connection.ResolvedAddress + " answers"
	if version := info.GetServerVersion(); version != "" { // clients may not be told
		text += ", version " + version
	}
	return []finding{{markGood, text, ""}}, nil
}

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

func (d *doctor) namespaces(ctx context.Context) ([]finding, error) {
	answer, err := d.client.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: d.namespace})
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		d.unusable = true
		return []finding{{markBad, fmt.Sprintf("there is no namespace %q", d.namespace),
			"choose another with --namespace, or create it: " +
				d.app.Connection.Invocation().Command("setup", "--create-namespace")}}, nil
	}
	if err != nil {
		return nil, err
	}
	kept := answer.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	return []finding{d.describeRetention(kept)}, nil
}

// shortRetention is the retention below which doctor warns.
const shortRetention = 7 * 24 * time.Hour

// describeRetention describes for how long the namespace keeps the histories of closed runs.
func (d *doctor) describeRetention(kept time.Duration) finding {
	f := finding{markGood, fmt.Sprintf("namespace %s, finished runs are retained for %s",
		d.namespace, days(kept)), ""}
	if kept < shortRetention {
		f.Mark = markWarn
		f.Text += "; records, reports and conversations read their histories"
		f.Remedy = "keep them longer: " + d.app.Connection.Invocation().Command(
			"setup", "--retention", fmt.Sprintf("%.0fh", defaultRetention.Hours()))
	}
	return f
}

func days(d time.Duration) string {
	if d >= 48*time.Hour {
		return display.Plural(int(d/(24*time.Hour)), "day")
	}
	return cli.ShortDuration(d)
}

func (d *doctor) attributes(ctx context.Context) (findings []finding, err error) {
	missing, taken, err := attributes.FindMissing(ctx, d.client, d.namespace)
	if err != nil {
		return []finding{{markWarn, fmt.Sprintf("cannot list the search attributes: %v", err),
			"check the permissions with the server's operator"}}, nil
	}
	setup := d.app.Connection.Invocation().Command("setup")
	if len(missing) > 0 {
		findings = append(findings, finding{markWarn, "search attributes are missing: " +
			strings.Join(attributes.Names(missing), ", "), setup})
	}
	if len(taken) > 0 {
		findings = append(findings, finding{markWarn,
			"search attributes have other types than Switchyard's: " + taken.Text(),
			"runs do not set them: ask the server's operator to remove them, then run " + setup})
	}
	if len(findings) == 0 {
		findings = []finding{{markGood, "all search attributes are registered", ""}}
	}
	return findings, nil
}
