package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

// maxImport bounds an imported document, in bytes.
const maxImport = 64 << 20

// importer imports the tools of one source.
type importer struct {
	app *cli.App
	// kind is what the source is; empty until it is detected.
	kind string
	// detected is set if the kind was not given. Programs that a document names start only if it is
	// a client's own file.
	detected          bool
	out, prefix, auth string
	logins            string
	dryRun            bool
	env               []string
	options           imports.Options
	servers           mcpServers
	// ownPrefix is set if names of tools begin with their server's name.
	ownPrefix bool
	// added is the new content of the file of servers, and the servers that it did not have.
	added serversToWrite
}

const importHelp = `Writes one toolspec per tool into the folder of --out (default ./tools). SOURCE is a file, a URL,
or - for standard input. The command detects what it is and says so; --kind overrides:

  openapi     an OpenAPI 3 document: a REST tool for each operation
  mcp         an MCP server, by its URL or by a program after --: its tools, pinned
  mcp-config  the MCP servers that Claude, Cursor, VS Code or Gemini CLI has configured, which are
              added to servers.yaml; or a servers.yaml, for its servers with all their settings
  functions   function definitions of OpenAI, Anthropic or Google: function tools
  registry    a TOML registry with one [[tool]] per tool

Importing again updates the files that were not edited. A file that people wrote or edited stays as
it is, and the new version is written beside it as NAME.new.yaml, which is not loaded. Everything
that cannot be imported is listed with the reason. Edit the files for what you know of the tools,
such as effects and labels, and check them with 'starter tools lint'.

Toolspecs refer to secrets by name (env:NAME); the command never asks for their values. A program
sees PATH, HOME, LANG, TMPDIR and the variables of --env.`

func importCommand(a *cli.App) *cobra.Command {
	f := &importer{app: a}
	cmd := &cobra.Command{
		Use:   "import SOURCE | -- PROGRAM [ARGUMENT…]",
		Short: "Create toolspecs from OpenAPI, MCP servers, functions or a registry",
		Long:  importHelp,
		Example: `  starter tools import petstore.yaml --only pet
  starter tools import github.json --only '/repos/**' --auth bearer=env:GITHUB_TOKEN
  starter tools import .mcp.json
  starter tools import --prefix fs_ -- npx -y @modelcontextprotocol/server-filesystem .
  starter tools import https://mcp.example.com/mcp --auth oauth`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "`kind` of the source: "+
		strings.Join(slices.Sorted(maps.Keys(kindNames)), ", "))
	flags.StringVar(&f.out, "out", specfiles.DefaultToolsDir,
		"`folder` that the files are written to")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be written without writing it")
	flags.StringSliceVar(&f.options.Only, "only", nil,
		"only tools with one of these names, tags, paths or servers: `patterns` such as repos_* and /repos/**")
	flags.StringVar(&f.prefix, "prefix", "",
		"`prefix` of all tool names (default for mcp-config: the server's name and _)")
	flags.StringVar(&f.options.BaseURL, "base-url", "",
		"`URL` that replaces the servers of an OpenAPI document")
	flags.StringVar(&f.auth, "auth", "",
		"`authentication` at the server: bearer=env:NAME, basic=…, header:X-Key=…, query:key=… or oauth")
	flags.StringSliceVar(&f.options.Allow, "allow", nil,
		"non-public `hosts` or ranges that the tools may reach, such as localhost")
	flags.StringSliceVar(&f.env, "env", nil,
		"`variables` of the environment that a program may see")
	loginsFlag(flags, &f.logins)
	return cmd
}

// kindNames are the kinds of sources, and how people call them.
var kindNames = map[string]string{
	imports.KindOpenAPI: "an OpenAPI document", imports.KindMCP: "an MCP server",
	imports.KindMCPConfig: "a configuration of MCP servers",
	imports.KindFunctions: "function definitions", imports.KindRegistry: "a TOML registry",
}

// flagKinds are the kinds of sources that a flag is for; the other flags are for all.
var flagKinds = []struct {
	name  string
	kinds []string
}{
	{"base-url", []string{imports.KindOpenAPI}},
	{"auth", []string{imports.KindOpenAPI, imports.KindMCP}},
	{"allow", []string{imports.KindOpenAPI, imports.KindMCP, imports.KindMCPConfig}},
	{"env", []string{imports.KindMCP}},
	{"logins", []string{imports.KindMCP, imports.KindMCPConfig, imports.KindRegistry}},
}

func (f *importer) run(cmd *cobra.Command, args []string) error {
	if err := f.check(cmd, args); err != nil {
		return err
	}
	f.servers = mcpServersFor(f.app, cmd.Context(), f.logins)
	defer f.servers.close()
	if cmd.ArgsLenAtDash() == 0 {
		f.kind = imports.KindMCP
		return f.finish(cmd, "", nil, args)
	}
	data, err := f.open(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	return f.finish(cmd, args[0], data, nil)
}

// check rejects wrong arguments and flags.
func (f *importer) check(cmd *cobra.Command, args []string) error {
	program := cmd.ArgsLenAtDash() == 0
	kinds := slices.Sorted(maps.Keys(kindNames))
	switch {
	case len(args) == 0:
		return cli.UsageError(cmd, "SOURCE is missing; name a file or URL, or a program after --")
	case len(args) > 1 && !program:
		return cli.UsageError(cmd, "unexpected argument %q; write a program after --", args[1])
	case f.kind != "" && (program || kindNames[f.kind] == ""):
		return cli.UsageError(cmd, "--kind %q: a document or URL is one of %s", f.kind,
			strings.Join(kinds, ", "))
	}
	f.ownPrefix = !cmd.Flags().Changed("prefix")
	var err error
	if f.options.Auth, err = parseAuth(f.auth); err != nil {
		return cli.UsageError(cmd, "--auth %v", err)
	}
	bad := slices.IndexFunc(f.options.Only, func(pattern string) bool {
		_, err := path.Match(pattern, "")
		return err != nil
	})
	if bad >= 0 {
		return cli.UsageError(cmd,
			"--only %q is not a pattern: * matches any text, ? one character, [ab] one of a set",
			f.options.Only[bad])
	}
	return nil
}

// finish reads the tools of a source and writes them.
func (f *importer) finish(cmd *cobra.Command, source string, data []byte, argv []string) error {
	for _, flag := range flagKinds {
		if cmd.Flags().Changed(flag.name) && (!slices.Contains(flag.kinds, f.kind) ||
			flag.name == "env" && argv == nil) {
			return cli.UsageError(cmd, "--%s is not for %s", flag.name,
				cmp.Or(source, kindNames[f.kind]))
		}
	}
	if toolspecs.IsServersFile(source) {
		if cmd.Flags().Changed("out") {
			return cli.UsageError(cmd, "--out: the tools of %s are written beside it", source)
		}
		f.out = filepath.Dir(source)
	}
	result, err := f.read(source, data, argv)
	if err != nil {
		return err
	}
	result.Source = cmp.Or(result.Source, f.identify(source))
	return f.write(result)
}

// read returns the tools of a source.
func (f *importer) read(source string, data []byte, argv []string) (imports.Result, error) {
	name := source
	if source == "-" {
		name = "standard input"
	}
	switch f.kind {
	case imports.KindOpenAPI:
		return imports.OpenAPI(name, data, f.options)
	case imports.KindFunctions:
		return imports.Functions(name, data, f.options.Only)
	case imports.KindRegistry:
		return imports.Registry(name, data, f.options.Only, f.registryTools)
	case imports.KindMCPConfig:
		return f.readConfig(name, data)
	}
	entry := toolspecs.MCPEntry{Argv: argv, Env: f.env, Auth: f.options.Auth,
		Allow: f.options.Allow}
	if argv == nil { // a toolspec with url has no argv, not even an empty one
		entry.URL = source
	}
	listed, err := f.servers.tools(entry)
	if err != nil {
		return imports.Result{}, importError(f.servers.ctx, entry, err)
	}
	return imports.MCP(cmp.Or(source, strings.Join(argv, " ")), entry, listed, f.options.Only)
}

// registryTools lists the tools of a server of a registry.
func (f *importer) registryTools(e toolspecs.MCPEntry) ([]mcpclient.Tool, error) {
	if f.detected && len(e.Argv) > 0 {
		return nil, errors.New("its program is started only with --kind registry")
	}
	return f.servers.tools(e)
}

// identify returns what tells an untitled source from others: its address, or its path from the
// folder of the tools. It is empty for standard input.
func (f *importer) identify(source string) string {
	switch {
	case source == "" || source == "-":
		return ""
	case isURL(source):
		address, _, _ := strings.Cut(source, "?")
		return address
	}
	out, outErr := filepath.Abs(f.out)
	own, ownErr := filepath.Abs(source)
	relative, err := filepath.Rel(out, own)
	if errors.Join(outErr, ownErr, err) != nil {
		return ""
	}
	return filepath.ToSlash(relative)
}

func isURL(source string) bool {
	return strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://")
}

// documentEndings are the endings of addresses of documents; others may be MCP servers.
var documentEndings = []string{".json", ".yaml", ".yml", ".toml"}

// open reads a document and determines the kind of the source.
func (f *importer) open(ctx context.Context, source string) ([]byte, error) {
	if isURL(source) && (f.kind == imports.KindMCP || f.auth == outbound.OAuth) {
		f.kind = imports.KindMCP
		return nil, nil
	}
	data, err := readSource(ctx, f.app.In, source)
	if f.kind == "" {
		f.detected = true
		f.kind, err = f.detect(source, data, err)
	}
	if err != nil {
		return nil, cli.Errorf(cli.ExitUsage, "%s: %w", source, err)
	}
	return data, nil
}

// detect returns the kind of a source that was read, or not because of err, and says it.
func (f *importer) detect(source string, data []byte, err error) (string, error) {
	because := ""
	if none, ok := errors.AsType[*noDocument](err); ok {
		because = " because " + none.Error()
	}
	kind, err := detectKind(source, data, err)
	if err != nil {
		return "", err
	}
	if kind == imports.KindMCPConfig && (isURL(source) || source == "-") {
		return "", errors.New("it names programs to start; if you trust it, pass --kind mcp-config")
	}
	fmt.Fprintf(f.app.Err, "%s is taken for %s%s; --kind overrides\n", source, kindNames[kind],
		because)
	return kind, nil
}

// detectKind returns the kind of a source by its content, or the error of reading it. An address
// that has no document is taken for an MCP server.
func detectKind(source string, data []byte, err error) (string, error) {
	_, none := errors.AsType[*noDocument](err)
	if err != nil && !none {
		return "", err
	}
	if kind := imports.DetectKind(source, data); kind != "" {
		return kind, nil
	}
	if isURL(source) && !slices.Contains(documentEndings, path.Ext(source)) {
		return imports.KindMCP, nil
	}
	if err != nil {
		return "", err
	}
	return "", fmt.Errorf("it is not known what this is; pass --kind %s",
		strings.Join(slices.Sorted(maps.Keys(kindNames)), ", --kind "))
}

// parseAuth parses bearer=env:NAME, header:X-Key=env:NAME or oauth.
func parseAuth(text string) (*outbound.Auth, error) {
	if text == "" {
		return nil, nil
	}
	if text == outbound.OAuth {
		return &outbound.Auth{Type: outbound.OAuth}, nil
	}
	how, secret, _ := strings.Cut(text, "=")
	kind, name, named := strings.Cut(how, ":")
	needs, known := authKinds[kind]
	switch {
	case !known:
		return nil, fmt.Errorf(
			"%q is not one of bearer, basic, header:NAME, query:NAME, oauth; an example: bearer=env:NAME",
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

// readSource reads a file, a URL, or standard input for -.
func readSource(ctx context.Context, in io.Reader, source string) ([]byte, error) {
	switch {
	case source == "-":
		return readUpTo(in)
	case isURL(source):
		return download(ctx, source)
	}
	file, err := os.Open(source)
	if err != nil {
		return nil, cli.PathError(source, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, errors.New("this is a folder; name a file")
	}
	return readUpTo(file)
}

func readUpTo(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImport+1))
	if err == nil && len(data) > maxImport {
		err = fmt.Errorf("it is larger than %d MiB", maxImport>>20)
	}
	return data, err
}

// noDocument is the answer of a server that has no document at an address.
type noDocument struct{ status string }

func (n *noDocument) Error() string { return "the server answered " + n.status }

// acceptedTypes are the media types of documents. An MCP server streams events only to clients that
// accept them.
const acceptedTypes = "application/json, application/yaml, application/toml, " +
	"application/vnd.oai.openapi+json, application/vnd.oai.openapi, text/plain, text/yaml"

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
	req.Header.Set("Accept", acceptedTypes)
	resp, err := outbound.Client(guard.Transport(), origin,
		func(*http.Request) error { return nil }).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if media := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK ||
		strings.HasPrefix(media, "text/event-stream") {
		return nil, &noDocument{strings.TrimSpace(resp.Status + " " + media)}
	}
	return readUpTo(resp.Body)
}
