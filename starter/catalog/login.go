package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/starter/cli"
)

// oauthFlags configure a login at an MCP server.
type oauthFlags struct {
	oauth bool
	auth  outbound.Auth
}

func (f *oauthFlags) add(set *pflag.FlagSet) {
	set.BoolVar(&f.oauth, "oauth", false,
		"log in with OAuth in a browser: the address is printed, the redirect address is read from standard input")
	set.StringVar(&f.auth.ClientID, "client-id", "",
		"client `ID` at the authorization server (default: register dynamically)")
	set.StringVar(&f.auth.Secret, "client-secret", "",
		"`reference` to the client secret: env:NAME or file:/path")
	set.StringVar(&f.auth.Issuer, "issuer", "",
		"`URL` of the authorization server that knows the client; the client secret goes only there")
	set.StringVar(&f.auth.ClientMetadataURL, "client-metadata-url", "",
		"https `URL` of the client metadata document, for servers that accept it as client ID")
	set.StringVar(&f.auth.RedirectURL, "redirect-url", "",
		"redirect `URL`; nothing needs to listen there (default "+outbound.DefaultRedirectURL+")")
	set.StringSliceVar(&f.auth.Scopes, "scopes", nil,
		"`scopes` to request in place of those of the server")
	set.StringVar(&f.auth.Grant, "grant", "",
		"OAuth `grant`: authorization_code (a person logs in; default) or client_credentials (the client's secret)")
}

// readAuth returns a toolspec's auth from the flags. given is --auth's value or nil.
func (f *oauthFlags) readAuth(cmd *cobra.Command, given *outbound.Auth) (*outbound.Auth, error) {
	if !f.oauth {
		for _, name := range []string{"client-id", "client-secret", "issuer",
			"client-metadata-url", "redirect-url", "scopes", "grant"} {
			if cmd.Flags().Changed(name) {
				return nil, cli.UsageError(cmd, "--%s requires --oauth", name)
			}
		}
		return given, nil
	}
	switch {
	case given != nil:
		return nil, cli.UsageError(cmd, "--auth and --oauth exclude each other")
	case !cmd.Flags().Changed("url"):
		return nil, cli.UsageError(cmd, "--oauth requires --url")
	}
	if err := f.checkClient(cmd); err != nil {
		return nil, err
	}
	auth := f.auth
	auth.Type = outbound.OAuth
	return &auth, nil
}

// checkClient rejects incomplete or conflicting client settings.
func (f *oauthFlags) checkClient(cmd *cobra.Command) error {
	id, secret := f.auth.ClientID != "", f.auth.Secret != ""
	alone := f.auth.Grant == outbound.GrantClientCredentials
	switch {
	case secret && outbound.CheckSecret(f.auth.Secret) != nil:
		return cli.UsageError(cmd,
			"--client-secret takes a reference to a secret, not its value: %s", outbound.HintSecret)
	case secret && !id, alone && !secret:
		return cli.UsageError(cmd,
			"--client-secret and --client-id require each other, and --grant client_credentials requires both")
	case f.auth.Grant != "" && !alone && f.auth.Grant != outbound.GrantAuthorizationCode:
		return cli.UsageError(cmd, "--grant %s: choose authorization_code or client_credentials",
			f.auth.Grant)
	}
	return f.checkIssuer(cmd)
}

// checkIssuer requires the issuer that may get the client secret.
func (f *oauthFlags) checkIssuer(cmd *cobra.Command) error {
	if f.auth.Secret != "" && f.auth.Issuer == "" || f.auth.Issuer != "" && f.auth.ClientID == "" {
		return cli.UsageError(cmd, "--client-secret requires --issuer, the address of the "+
			"authorization server that knows the client, and --issuer requires --client-id")
	}
	return nil
}

// loginsFlag adds the flag for the folder of login tokens.
func loginsFlag(set *pflag.FlagSet, folder *string) {
	set.StringVar(folder, "logins", "",
		"`folder` for tokens of MCP servers (default: switchyard/logins in the user's configuration folder, like the worker's)")
}

func loginsIn(folder string) *mcpclient.Logins {
	return mcpclient.NewLogins(cmp.Or(folder, mcpclient.DefaultLogins()))
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
