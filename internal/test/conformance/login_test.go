package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/toolspecs"
)

// The client that the orchestrator registers with the suite's authorization servers.
const (
	clientDocument = "https://conformance-test.local/client-metadata.json"
	secretVariable = "CONFORMANCE_CLIENT_SECRET"
)

// environment returns the environment of the worker and of starter.
func (v *visit) environment() []string {
	if v.about.ClientSecret == "" {
		return nil
	}
	return []string{secretVariable + "=" + v.about.ClientSecret}
}

// logins returns the folder with the tokens of a program.
func (v *visit) logins(wanted scenario, program string) string {
	if wanted.shared {
		program = "shared"
	}
	return filepath.Join(filepath.Dir(v.tools), "logins", program)
}

// importWithLogin imports the server's tools as a person at a terminal with a browser would.
func (v *visit) importWithLogin(logins string) error {
	auth := map[string]string{"type": outbound.OAuth, "client_metadata_url": clientDocument}
	if v.about.ClientID != "" {
		auth["client_id"], auth["issuer"] = v.about.ClientID, v.about.Issuer
		auth["secret"] = "env:" + secretVariable
	}
	data, err := json.Marshal(map[string]any{"servers": map[string]any{"suite": map[string]any{
		"url": v.server, "allow": []string{"localhost"}, "answer_within": "1m", "auth": auth}}})
	if err != nil {
		return err
	}
	file := filepath.Join(v.tools, toolspecs.ServersFile)
	if err := errors.Join(os.MkdirAll(v.tools, 0o700),
		os.WriteFile(file, data, 0o600)); err != nil {
		return err
	}
	args := []string{"tools", "import", file, "--prefix", "", "--logins", logins}
	cmd := v.command(args)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	var printed bytes.Buffer
	if err := cmd.Start(); err != nil {
		return err
	}
	browsed := v.atTerminal(io.TeeReader(stderr, &printed), stdin)
	if err := errors.Join(browsed, cmd.Wait()); err != nil {
		return fmt.Errorf("starter %s: %w\n%s", strings.Join(args, " "), err, &printed)
	}
	return nil
}

// atTerminal reads the output of starter and answers each address with the one where the browser
// ends.
func (v *visit) atTerminal(prints io.Reader, types io.Writer) error {
	lines := bufio.NewScanner(prints)
	lines.Buffer(nil, 1<<20)
	var problem error
	for lines.Scan() {
		if address, found := addressIn(lines.Text()); found {
			final, err := mcpserver.Browse(v.ctx, address)
			_, typed := fmt.Fprintln(types, final)
			problem = errors.Join(problem, err, typed)
		}
	}
	return errors.Join(problem, lines.Err())
}

// logIn answers every question of a run about a login, until ctx ends.
func (v *visit) logIn(ctx context.Context, id string) error {
	done := map[string]bool{}
	for {
		open := v.questions(ctx, id)
		if len(open) == 0 {
			if len(done) == 0 {
				return fmt.Errorf("run %s wanted no login", id)
			}
			return nil
		}
		for _, q := range open {
			if done[q.ID] {
				continue
			}
			done[q.ID] = true
			address, _ := addressIn(q.Text)
			final, err := mcpserver.Browse(ctx, address)
			if err != nil {
				return err
			}
			if _, err := v.starter("answer", id, q.ID, "--text", final, "--by", "the suite",
				"--address", v.address); err != nil {
				return err
			}
		}
	}
}

// addressIn returns the login address that is a line of a text.
func addressIn(text string) (string, bool) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "http") {
			return line, true
		}
	}
	return "", false
}
