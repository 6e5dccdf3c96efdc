package operate

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// maxClockSkew is the difference between two clocks from which doctor warns.
const maxClockSkew = 5 * time.Second

// codec asks the remote codec of the connection for nothing, if there is one.
func (d *doctor) codec(ctx context.Context) ([]finding, error) {
	endpoint, authorization := d.app.Connection.Codec()
	if endpoint == "" {
		return nil, nil
	}
	if err := askCodec(ctx, endpoint, authorization, d.namespace); err != nil {
		return []finding{{markBad, fmt.Sprintf("the codec server at %s does not decode: %v",
			endpoint, err), "start it (" + d.app.Connection.Called() +
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

// evaluateFleet reports differences between workers, and between them, the server and this command.
func (d *doctor) evaluateFleet(workers []api.WorkerCatalog) []finding {
	workers = slices.DeleteFunc(slices.Clone(workers), func(w api.WorkerCatalog) bool {
		return w.Failure != "" || w.Settings == nil
	})
	own := ""
	if opened := d.app.Connection.Opened; opened != nil {
		own = opened.Describe()
	}
	return slices.Concat(versions(workers), payloadSettings(workers, own),
		clocks(workers, d.ahead))
}

// versions reports workers of different versions.
func versions(workers []api.WorkerCatalog) []finding {
	text, differ := byWorker(workers, func(s *api.WorkerSettings) string { return s.Version })
	if !differ {
		return nil
	}
	return []finding{{markWarn, "workers have different versions:" + cli.Below(text),
		"unless a rollout is under way, replace the older workers"}}
}

// payloadSettings reports workers that encode or store payloads differently from each other or from
// this command. own describes the settings of this command.
func payloadSettings(workers []api.WorkerCatalog, own string) []finding {
	of := func(s *api.WorkerSettings) string { return s.Payloads }
	text, differ := byWorker(workers, of)
	for _, w := range workers {
		differ = differ || of(w.Settings) != own
	}
	if !differ {
		return nil
	}
	return []finding{{markWarn, "payload settings differ:" +
		cli.Below("this command: "+own+"\n"+text),
		"start workers and starter with the same --payload-keys, --payload-store, " +
			"--payload-threshold and --payload-compression, or the same SWITCHYARD_PAYLOAD_* variables"}}
}

// byWorker lists a setting, one worker a line, and reports whether it differs.
func byWorker(workers []api.WorkerCatalog, of func(*api.WorkerSettings) string) (text string,
	differ bool) {
	var lines []string
	for _, w := range workers {
		lines = append(lines, w.Worker+": "+of(w.Settings))
		differ = differ || of(w.Settings) != of(workers[0].Settings)
	}
	return strings.Join(lines, "\n"), differ
}

// clocks reports clocks that differ from the server's. own is how far that of this machine is
// ahead.
func clocks(workers []api.WorkerCatalog, own time.Duration) (findings []finding) {
	report := func(whose string, ahead time.Duration) {
		if ahead.Abs() < maxClockSkew {
			return
		}
		side := "ahead of"
		if ahead < 0 {
			side = "behind"
		}
		findings = append(findings, finding{markWarn, fmt.Sprintf("the clock of %s is %s %s the "+
			"server's", whose, cli.ShortDuration(ahead.Abs()), side),
			"synchronize the clocks, for example with NTP: durations and timeouts in records mix both"})
	}
	report("this machine", own)
	for _, w := range workers {
		report("the worker "+w.Worker, w.Settings.ClockAhead.Std())
	}
	return findings
}
