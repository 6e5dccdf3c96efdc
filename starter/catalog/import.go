package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

// maxImport bounds an imported document, in bytes.
const maxImport = 64 << 20

func importCommand(a *cli.App, catalog *specfiles.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import", Short: "Create toolspecs from OpenAPI, MCP servers, functions or a registry",
		Long: `Writes one file per tool into the folder of --out (default ./tools). Importing again updates
the files that nobody edited. A file that people wrote or edited stays as it is, and the new
version is written beside it as NAME.new.yaml, which is not loaded; --force overwrites it.
Everything that cannot be imported is listed with the reason. Read the files, edit them, and check
them with 'starter tools lint'.

What you know of the tools can be declared at once: --session, --access, --effect, --lane,
--heartbeat, --emits, --category and tags. --prefix keeps names of several sources distinct.

Toolspecs refer to secrets by name (env:NAME); the command never asks for their values.`,
		Example: `  starter tools import openapi petstore.yaml --tag pet
  starter tools import openapi github.json --path '/repos/**' --auth bearer=env:GITHUB_TOKEN
  starter tools import mcp-config .mcp.json
  starter tools import mcp --out ./tools/files -- npx -y @modelcontextprotocol/server-filesystem .
  starter tools import functions functions.json --dry-run`,
		Args: a.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(importOpenAPICommand(a, catalog), importMCPCommand(a, catalog),
		importConfigCommand(a, catalog),
		importFunctionsCommand(a, catalog), importRegistryCommand(a, catalog))
	return cmd
}

// importFlags select where the imported tools are written, and what is declared of all of them.
type importFlags struct {
	out            string
	force, dryRun  bool
	names          []string
	access, effect string
	heartbeat      time.Duration
	// part is set if other flags select some of the tools of the source.
	part      bool
	overrides imports.Overrides
	// servers is the file of servers that is written with the tools.
	servers serversToWrite
}

// serversToWrite is the content of a file of servers, and the servers that it did not have.
type serversToWrite struct {
	data  []byte
	added []string
}

// add adds the flags. tags is the name of the flag for the tags that tools get.
func (f *importFlags) add(flags *pflag.FlagSet, tags string) {
	flags.StringVar(&f.out, "out", specfiles.DefaultToolsDir,
		"`folder` that the files are written to")
	flags.BoolVar(&f.force, "force", false,
		"overwrite files that people wrote or edited")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be written without writing it")
	flags.StringSliceVar(&f.names, "name", nil,
		"only tools whose names match one of these `patterns`, such as repos_*")
	o := &f.overrides
	flags.StringVar(&o.Prefix, "prefix", "", "`prefix` of all tool names")
	flags.StringVar(&o.Session, "session", "",
		"`session` of MCP tools: run, or shared for a server that keeps no state")
	flags.StringVar(&f.access, "access", "", "`access` of all tools: shared or exclusive")
	flags.StringVar(&f.effect, "effect", "",
		"`effect` of all tools: read, idempotent or once, where you know it")
	flags.StringVar(&o.Lane, "lane", "", "`lane` of all tools")
	flags.DurationVar(&f.heartbeat, "heartbeat", 0,
		"`time` without a heartbeat after which a worker counts as lost, at least 1s")
	flags.StringVar(&o.Category, "category", "", "`category` of all tools: "+
		strings.Join(categories, ", "))
	flags.StringSliceVar(&o.Emits, "emits", nil,
		"`labels` that the results of all tools carry, such as untrusted")
	flags.StringSliceVar(&o.Tags, tags, nil, "`tags` that all tools get")
}

// categories are the categories of tools.
var categories = []string{"http", "database", "file", "ai", "notification", "custom"}

func importOpenAPICommand(a *cli.App, catalog *specfiles.Flags) *cobra.Command {
	var flags importFlags
	var o imports.Options
	auth := ""
	cmd := &cobra.Command{
		Use:   "openapi FILE|URL|-",
		Short: "Create REST tools from the operations of an OpenAPI 3 document",
		Long: `Creates a tool for each operation, or for those that --tag, --path and --name select. GET, HEAD
and OPTIONS get effect: read, PUT and DELETE idempotent, POST and PATCH once. Server and
authentication come from the document; the secret is named after the API and its security scheme.
Default values are described to the model and not sent.`,
		Example: `  starter tools import openapi petstore.yaml
  starter tools import openapi https://api.example.com/openapi.json --tag orders --base-url https://staging.example.com
  starter tools import openapi github.json --name 'issues_*' --auth bearer=env:GITHUB_TOKEN --dry-run`,
		Args: cli.Arguments(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Auth, err = parseAuth(auth); err != nil {
				return cli.UsageError(cmd, "--auth %v", err)
			}
			if err := checkBaseURL(o.BaseURL); err != nil {
				return cli.UsageError(cmd, "--base-url: %v", err)
			}
			target := toolspecs.Spec{Entry: toolspecs.Entry{Kind: toolspecs.RESTEntry{
				BaseURL: o.BaseURL, Allow: o.Allow}}}
			if err := target.CheckReach(insideHosts()); err != nil {
				return cli.UsageError(cmd, "--base-url: no worker would reach it: %v; pass --allow%s",
					err, strings.TrimPrefix(suchAs(o.BaseURL), ", such as --allow"))
			}
			o.Names = flags.names
			flags.part = len(o.Tags)+len(o.Paths) > 0
			return importFile(a, cmd, args[0], &flags, catalog,
				func(name string, data []byte) (imports.Result, error) {
					return imports.OpenAPI(name, data, o)
				})
		},
	}
	flags.add(cmd.Flags(), "add-tag")
	cmd.Flags().StringSliceVar(&o.Tags, "tag", nil, "only operations with one of these `tags`")
	cmd.Flags().StringSliceVar(&o.Paths, "path", nil,
		"only operations of these `paths`: exact, or patterns such as /repos/* and /repos/**")
	cmd.Flags().StringVar(&o.BaseURL, "base-url", "", "`URL` that replaces the document's servers")
	cmd.Flags().StringVar(&auth, "auth", "",
		"authentication as `TYPE=SECRET` in place of the document's: bearer=env:NAME, basic=…, header:X-Key=…, query:key=…")
	cmd.Flags().StringSliceVar(&o.Allow, "allow", nil,
		"non-public `hosts` or ranges that the tools may reach, such as localhost")
	cmd.Flags().BoolVar(&o.Output, "with-output", false,
		"declare output schemas too; a result that does not match gets a note")
	return cmd
}

// check rejects patterns that cannot match and values that no toolspec can have.
func (f *importFlags) check(cmd *cobra.Command) error {
	for _, flag := range []struct {
		name, value string
		known       []string
	}{{"access", f.access, []string{string(api.AccessShared), string(api.AccessExclusive)}},
		{"effect", f.effect, []string{string(api.EffectRead), string(api.EffectIdempotent),
			string(api.EffectOnce)}},
		{"category", f.overrides.Category, categories}} {
		if flag.value != "" && !slices.Contains(flag.known, flag.value) {
			return cli.UsageError(cmd, "--%s %q is not one of %s", flag.name, flag.value,
				strings.Join(flag.known, ", "))
		}
	}
	if h := f.heartbeat; h != 0 && (h < time.Second || h > time.Hour) {
		return cli.UsageError(cmd, "--heartbeat %s: from 1s to 1h", h)
	}
	f.overrides.Heartbeat = api.Duration(f.heartbeat)
	f.overrides.Access, f.overrides.Effect = api.Access(f.access), api.Effect(f.effect)
	for _, pattern := range f.names {
		if _, err := path.Match(pattern, ""); err != nil {
			return cli.UsageError(cmd,
				"--name %q is not a pattern: * matches any text, ? one character, [ab] one of a set",
				pattern)
		}
	}
	return nil
}

// importFile reads a document and writes its tools.
func importFile(a *cli.App, cmd *cobra.Command, source string, flags *importFlags,
	catalog *specfiles.Flags,
	read func(name string, data []byte) (imports.Result, error)) error {
	if err := flags.check(cmd); err != nil {
		return err
	}
	name, data, err := document(cmd.Context(), a, source)
	if err != nil {
		return err
	}
	result, err := read(name, data)
	if err != nil {
		return err
	}
	return writeImported(a, cmd, flags, catalog, result)
}

// parseAuth parses bearer=env:NAME or header:X-Key=env:NAME.
func parseAuth(text string) (*outbound.Auth, error) {
	if text == "" {
		return nil, nil
	}
	how, secret, _ := strings.Cut(text, "=")
	kind, name, named := strings.Cut(how, ":")
	needs, known := authKinds[kind]
	switch {
	case !known:
		return nil, fmt.Errorf(
			"%q is not one of bearer, basic, header:NAME, query:NAME; an example: bearer=env:NAME",
			how)
	case named != needs:
		return nil, errors.New(
			"header and query require a name, as in header:X-Key=env:NAME; the others take none")
	case outbound.CheckSecret(secret) != nil:
		return nil, errors.New("takes a reference to a secret, not its value: " +
			outbound.HintSecret)
	}
	return &outbound.Auth{Type: kind, Secret: secret, Name: name}, nil
}

// authKinds maps the kinds of auth to whether they take a name.
var authKinds = map[string]bool{outbound.Bearer: false, outbound.Basic: false,
	outbound.Header: true, outbound.Query: true}

func checkBaseURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("this is not a valid URL")
	}
	return outbound.CheckURL(u)
}

// document reads the source: a file, a URL, or standard input for -.
func document(ctx context.Context, a *cli.App, source string) (name string, data []byte,
	err error) {
	switch {
	case source == "-":
		name = "standard input"
		data, err = readUpTo(a.In)
	case strings.HasPrefix(source, "https://"), strings.HasPrefix(source, "http://"):
		name = source
		data, err = download(ctx, source)
	default:
		name = source
		data, err = readDocument(source)
	}
	if err != nil {
		return "", nil, cli.Errorf(cli.ExitUsage, "%s: %w", name, err)
	}
	return name, data, nil
}

func readDocument(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cli.PathError(path, err)
	}
	if info.IsDir() {
		return nil, errors.New("this is a folder; name a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.PathError(path, err)
	}
	defer f.Close()
	return readUpTo(f)
}

func readUpTo(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImport+1))
	if err == nil && len(data) > maxImport {
		err = fmt.Errorf("it is larger than %d MiB", maxImport>>20)
	}
	return data, err
}

// download reads a document from the named host, which may be local, and never contacts another
// host.
func download(ctx context.Context, address string) ([]byte, error) {
	origin, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("this is not a valid URL")
	}
	if err := outbound.CheckURL(origin); err != nil {
		return nil, err
	}
	guard, err := outbound.NewGuard(outbound.Policy{Allow: []string{origin.Hostname()}})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := outbound.Client(guard.Transport(), origin,
		func(*http.Request) error { return nil }).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	return readUpTo(resp.Body)
}
