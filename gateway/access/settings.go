package access

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/content"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// defaultOperatorScope is the scope that decides about approvals by default.
const defaultOperatorScope = "operator"

// maxFileBytes bounds gateway.yaml and the file of keys.
const maxFileBytes = 1 << 20

// settingsFile is gateway.yaml as written.
type settingsFile struct {
	PublicURL string                `yaml:"public_url"`
	Access    accessFile            `yaml:"access"`
	Limits    limitsFile            `yaml:"limits"`
	Servers   map[string]serverFile `yaml:"servers"`
	Console   consoleFile           `yaml:"console"`
	Prompts   []content.Prompt      `yaml:"prompts"`
	Resources []content.Resource    `yaml:"resources"`
}

type accessFile struct {
	Issuers       []issuerFile `yaml:"issuers" rule:"min=1"`
	APIKeys       string       `yaml:"api_keys"`
	Scopes        []string     `yaml:"scopes" pattern:"^[!#-\\x5b\\x5d-~]+$ %q is not a scope" hint:"write one word"`
	OperatorScope string       `yaml:"operator_scope" pattern:"^[!#-\\x5b\\x5d-~]+$ %q is not a scope" hint:"write one word"`
	Claims        []string     `yaml:"claims"`
	Roles         rolesFile    `yaml:"roles"`
	Hosts         []string     `yaml:"hosts" pattern:"^[^/\\s*]+$ %q is not the name of a host" hint:"write a name without scheme and path"`
}

// issuerFile describes one authorization server.
type issuerFile struct {
	Issuer    string       `yaml:"issuer" rule:"required"`
	JWKSURL   string       `yaml:"jwks_url"`
	Audience  []string     `yaml:"audience" rule:"min=1"`
	Principal string       `yaml:"principal"`
	Prefix    string       `yaml:"prefix"`
	ClockSkew api.Duration `yaml:"clock_skew" rule:"min=0s,max=5m"`
}

type limitsFile struct {
	Requests float64 `yaml:"requests_per_second" rule:"min=0.01,max=1000000"`
	Burst    int     `yaml:"burst" rule:"min=1,max=1000000"`
	InFlight int     `yaml:"in_flight" rule:"min=1,max=100000"`
	Body     int     `yaml:"body" rule:"size,min=1KiB,max=64MiB"`
}

// Settings are those of a gateway. The zero value has no authentication and offers all tools.
type Settings struct {
	publicURL     *url.URL
	issuers       []issuerFile
	keysPath      string
	baseScopes    []string
	operatorScope string
	claims        []string
	roles         rolesFile
	hosts         []string
	limits        limits
	// servers are the virtual servers by name; nil if the file has none.
	servers map[string]*server
	console consoleFile
	// endedSessions is a path.
	endedSessions string
	content       *content.Set
}

// NewSettings returns the settings of a gateway without a file: no authentication, all tools.
func NewSettings() *Settings { return settingsFromFile(settingsFile{}) }

// decodeSettings returns the settings of the file at path. The error is strictyaml.Faults and lists
// everything that is wrong in the file.
func decodeSettings(path string, data []byte) (*Settings, error) {
	doc, faults := strictyaml.ParseOne(path, data, maxFileBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var f settingsFile
	doc.Decode(&f)
	s := settingsFromFile(f)
	s.keysPath, s.endedSessions = beside(path, s.keysPath), beside(path, f.Console.EndedSessions)
	c := &checker{file: &f, settings: s}
	c.check(doc)
	s.content = content.Load(f.Prompts, f.Resources, func(name string) string {
		return beside(path, name)
	}, &c.Findings)
	doc.ReportAll(c.All)
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func settingsFromFile(f settingsFile) *Settings {
	s := &Settings{issuers: f.Access.Issuers, keysPath: f.Access.APIKeys,
		baseScopes:    f.Access.Scopes,
		operatorScope: cmp.Or(f.Access.OperatorScope, defaultOperatorScope),
		claims:        f.Access.Claims,
		roles:         f.Access.Roles,
		console:       f.Console,
		limits: limits{Requests: cmp.Or(f.Limits.Requests, defaultRequests),
			Burst:    cmp.Or(f.Limits.Burst, defaultBurst),
			InFlight: cmp.Or(f.Limits.InFlight, defaultInFlight),
			Body:     int64(cmp.Or(f.Limits.Body, defaultBody))}}
	if u, err := url.Parse(strings.TrimSuffix(f.PublicURL, "/")); err == nil && f.PublicURL != "" {
		s.publicURL = u
	}
	for _, h := range f.Access.Hosts {
		s.hosts = append(s.hosts, strings.ToLower(hostname(h)))
	}
	if f.Servers != nil {
		s.servers = map[string]*server{}
		for name, written := range f.Servers {
			s.servers[name] = written.server(name)
		}
	}
	return s
}

// Authenticates reports whether requests need a token or an API key.
func (s *Settings) Authenticates() bool { return len(s.issuers) > 0 || s.keysPath != "" }

// MaxBody returns the maximum size of a request's body in bytes.
func (s *Settings) MaxBody() int64 { return s.limits.Body }

// address returns the address that clients use, without a path of the gateway; empty if the file
// has none.
func (s *Settings) address() string {
	if s.publicURL == nil {
		return ""
	}
	return s.publicURL.String()
}

// resource returns the identifier of the resource that a route leads to.
func (s *Settings) resource(route routes.Route) string { return s.address() + route.Path() }

// mainServer is the route of the server whose metadata clients get that do not say which.
var mainServer = routes.Route{Kind: routes.Server}

// metadataURL returns the address of the metadata of what a route leads to.
func (s *Settings) metadataURL(route routes.Route) string {
	if !s.serves(route) {
		route = mainServer
	}
	u := *s.publicURL
	u.Path = routes.MetadataPath + u.Path + route.Path()
	return u.String()
}

// serves reports whether there is a server that a route leads to.
func (s *Settings) serves(route routes.Route) bool {
	return route.Kind == routes.Operator || route == mainServer && s.servers == nil ||
		s.server(route) != nil
}

// scopes returns the scopes that requests with a route need, in order and each once.
func (s *Settings) scopes(route routes.Route) []string {
	all := slices.Clone(s.baseScopes)
	if route.Kind == routes.Operator {
		all = append(all, s.operatorScope)
	} else if v := s.server(route); v != nil {
		all = append(all, v.scopes...)
	}
	var distinct []string
	for _, scope := range all {
		if !slices.Contains(distinct, scope) {
			distinct = append(distinct, scope)
		}
	}
	return distinct
}

// checker reports faults beyond types and bounds.
type checker struct {
	file     *settingsFile
	settings *Settings
	strictyaml.Findings
}

func (c *checker) check(doc *strictyaml.Document) {
	c.url()
	c.issuers()
	c.roles()
	c.console()
	for _, name := range slices.Sorted(maps.Keys(c.file.Servers)) {
		c.server(name, c.file.Servers[name])
	}
	if doc.Has(jsonpath.Root+".servers") && len(c.file.Servers) == 0 {
		c.Add(jsonpath.Root+".servers", "remove servers, or add one",
			"there is no virtual server, so the gateway would offer no tool")
	}
}

func (c *checker) url() {
	const at = jsonpath.Root + ".public_url"
	u := c.settings.publicURL
	switch {
	case c.file.PublicURL == "":
		if len(c.file.Access.Issuers) > 0 {
			c.Add(jsonpath.Root+".access.issuers",
				"set public_url: https://HOST, as clients write it",
				"tokens are issued for an address, and public_url is missing")
		}
	case u == nil || strings.ContainsAny(c.file.PublicURL, "?#@") ||
		checkSecure(c.file.PublicURL) != nil:
		c.Add(at, "write https://HOST, as clients write it",
			"%q is not an https address without query and user", c.file.PublicURL)
	case strings.HasSuffix(u.Path, routes.ServerPath):
		c.Add(at, "remove "+routes.ServerPath, "public_url is the address above %s and %s",
			routes.ServerPath, routes.OperatorPath)
	}
}

func (c *checker) issuers() {
	const list = jsonpath.Root + ".access.issuers"
	names, prefixes := map[string]bool{}, map[string]bool{}
	for i, f := range c.file.Access.Issuers {
		at := jsonpath.Index(list, i)
		if err := checkSecure(f.Issuer); err != nil && f.Issuer != "" {
			c.Add(at+".issuer", "write the address exactly as tokens have it in iss", "%v", err)
		}
		if err := checkSecure(f.JWKSURL); err != nil && f.JWKSURL != "" {
			c.Add(at+".jwks_url", "", "%v", err)
		}
		if names[f.Issuer] {
			c.Add(at+".issuer", "remove one", "the issuer is given twice")
		}
		if prefixes[f.Prefix] {
			c.Add(at, "give each issuer another prefix, such as acme:",
				"two issuers give their principals the same prefix, so that they could give two "+
					"people one name")
		}
		names[f.Issuer], prefixes[f.Prefix] = true, true
	}
}

// server checks a virtual server.
func (c *checker) server(name string, f serverFile) {
	at := jsonpath.Key(jsonpath.Root+".servers", name)
	if !serverName.MatchString(name) {
		c.AddKey(at, "use letters, digits, - and _",
			"%q cannot be a part of an address", name)
	}
	c.claims(at+".claims", f.Claims)
	for i, t := range f.Tools {
		tool := jsonpath.Index(at+".tools", i)
		c.claims(tool+".claims", t.Claims)
		if t.Name == "" && t.Tag == "" && t.Category == "" {
			c.Add(tool, "add name, tag or category; name: '*' selects all tools",
				"this selects no tool")
		}
		if fault := t.fault(); fault != "" {
			c.Add(tool+".name", "write * for any characters, and ? for one", "%s", fault)
		}
	}
}

// claims checks that required claims are among those that are read.
func (c *checker) claims(at string, required map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if !slices.Contains(c.file.Access.Claims, name) {
			c.AddKey(jsonpath.Key(at, name), cmp.Or(spelling.Hint(name, c.file.Access.Claims),
				fmt.Sprintf("add %s to access.claims", name)),
				"the claim %q is not among access.claims, so it is not read", name)
		}
	}
}
