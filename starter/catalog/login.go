package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/starter/cli"
)

// loginsFlag adds the flag for the folder of login tokens.
func loginsFlag(set *pflag.FlagSet, folder *string) {
	set.StringVar(folder, "logins", "",
		"`folder` for tokens of MCP servers (default: switchyard/logins in the user's configuration folder, like the worker's)")
}

// maxAddress bounds a line with an address, in bytes.
const maxAddress = 64 << 10

// askLogin prints the login address for the user and reads the address to which the browser was
// redirected.
func askLogin(ctx context.Context, a *cli.App, address string) (string, error) {
	fmt.Fprintf(a.Err, "The MCP server wants a login. Open this address in a browser, log in and allow the access:\n\n  %s\n\n"+
		"Then copy the full address of the last page, even if it shows an error, and paste it here: ",
		address)
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := readLine(a.In)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// readLine reads exactly one line and leaves the rest for other prompts.
func readLine(r io.Reader) (string, error) {
	var text strings.Builder
	for one := make([]byte, 1); text.Len() < maxAddress; {
		n, err := r.Read(one)
		switch {
		case n == 1 && one[0] == '\n', errors.Is(err, io.EOF) && text.Len() > 0:
			return text.String(), nil
		case n == 1:
			text.WriteByte(one[0])
		case err != nil:
			return "", cli.Errorf(cli.ExitUsage,
				"standard input ended before the redirect address; the login is not complete")
		}
	}
	return "", cli.Errorf(cli.ExitUsage, "the line on standard input is too long for an address")
}
