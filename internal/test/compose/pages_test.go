package compose

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// opened returns the document of a page after headless Chromium has loaded it.
func opened(t *testing.T, address string) string {
	t.Helper()
	program := os.Getenv("SWITCHYARD_CHROMIUM")
	if program == "" {
		program = "chromium"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("no Chromium: install one, or name it in SWITCHYARD_CHROMIUM: %v", err)
	}
	o := command(t, t.TempDir(), os.Environ(), nil, path, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=20000", "--dump-dom", address)
	if o.code != 0 {
		t.Fatalf("%s %s: exit code %d\n%s", program, address, o.code, o.stderr)
	}
	return o.stdout
}

var tags = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)

// webUI opens the list of runs and a run in Temporal's Web UI.
func (d *deployment) webUI(t *testing.T) string {
	home := fmt.Sprintf("http://127.0.0.1:%s/namespaces/default/workflows", d.settings["UI_PORT"])
	for _, page := range []struct {
		path string
		says []string
	}{
		{"", []string{"librarian", "kill", "Failed", "Completed"}},
		{"/librarian", []string{"librarian", "Completed", "read_document"}},
	} {
		var missing []string
		await(t, fmt.Sprintf("%s shows %q", home+page.path, page.says), time.Minute, func() bool {
			missing = nil
			text := tags.ReplaceAllString(opened(t, home+page.path), " ")
			for _, s := range page.says {
				if !strings.Contains(text, s) {
					missing = append(missing, s)
				}
			}
			return missing == nil
		})
	}
	return "the list shows runs, the run its calls"
}

// query asks Prometheus, and decodes the field data of the response into v.
func (d *deployment) query(t *testing.T, path string, v any) error {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%s/api/v1/%s", d.settings["PROMETHEUS_PORT"], path))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct {
		Error string
		Data  any
	}{Data: v}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return nil
}

// codec starts the codec server, which answers only with the token of .env.
func (d *deployment) codec(t *testing.T) string {
	const token = "a-token-for-this-test"
	d.settings["SWITCHYARD_CODEC_TOKEN"] = token
	d.configure(t, nil)
	d.compose(t, "--profile", "codec", "up", "--detach", "--wait", "codec")
	for path, want := range map[string]int{"decode": http.StatusUnauthorized,
		token + "/decode": http.StatusOK} {
		response, err := http.Post(fmt.Sprintf("http://127.0.0.1:%s/%s", d.settings["CODEC_PORT"], path),
			"application/json", strings.NewReader(`{"payloads":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("/%s answers with %s, want %d", path, response.Status, want)
		}
	}
	return "healthy; decodes with the token only"
}

// metrics starts Prometheus and waits until it has read all workers and evaluated all rules.
func (d *deployment) metrics(t *testing.T) string {
	d.compose(t, "--profile", "metrics", "up", "--detach", "prometheus")
	checked := d.compose(t, "--profile", "metrics", "exec", "--no-TTY", "prometheus", "promtool", "check",
		"config", "/etc/prometheus/prometheus.yml")
	for expression, want := range map[string]string{
		`sum(up{job="switchyard"})`:                       "3",
		`sum(up{job="temporal"})`:                         "1",
		`sum(switchyard_worker_ready)`:                    "3",
		`sum(switchyard_calls_total{tool="charge"}) >= 1`: "",
	} {
		var got string
		await(t, fmt.Sprintf("%s is %s", expression, want), 2*time.Minute, func() bool {
			var data struct{ Result []struct{ Value [2]any } }
			err := d.query(t, "query?query="+url.QueryEscape(expression), &data)
			got = ""
			if err == nil && len(data.Result) == 1 {
				got = fmt.Sprint(data.Result[0].Value[1])
			}
			return got != "" && (want == "" || got == want)
		})
	}
	return fmt.Sprintf("3 workers and the server are read; %s", d.rules(t, checked))
}

// rules waits until all rules are evaluated without an error.
func (d *deployment) rules(t *testing.T, checked string) string {
	t.Helper()
	found := regexp.MustCompile(`SUCCESS: (\d+) rules found`).FindStringSubmatch(checked)
	if found == nil {
		t.Fatalf("promtool check config says %q", checked)
	}
	var healthy, all int
	await(t, "all rules are evaluated", 2*time.Minute, func() bool {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := d.query(t, "rules", &data); err != nil {
			return false
		}
		healthy, all = 0, 0
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				all++
				switch r.Health {
				case "ok":
					healthy++
				case "err":
					t.Fatalf("the rule %s fails: %s", r.Name, r.LastError)
				}
			}
		}
		return all > 0 && healthy == all
	})
	if fmt.Sprint(all) != found[1] {
		t.Errorf("Prometheus has %d rules, promtool finds %s", all, found[1])
	}
	return fmt.Sprintf("%d rules", all)
}
