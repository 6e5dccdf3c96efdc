package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/payloads"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
)

// ConnectTimeout bounds the wait for a server's first answer.
const ConnectTimeout = 3 * time.Second

// Connection holds the flags that select the server. Defaults come from TEMPORAL_* variables, then
// from the profile, then from the SDK.
type Connection struct {
	address, namespace, apiKey        string
	profile, configFile               string
	tls, tlsNoHostCheck               bool
	cert, key, authority, tlsName, UI string
	Payloads                          payloads.Config
	// program is how starter was called.
	program string
	// Opened is the payload storage. It is set once a connection exists.
	Opened *payloads.Storage
	// Local marks a development server, for which environment and profiles are ignored.
	Local bool
	// ResolvedAddress and ResolvedNamespace are the settings in effect.
	ResolvedAddress, ResolvedNamespace string
}

func (c *Connection) add(f *pflag.FlagSet) {
	f.StringVar(&c.address, "address", "",
		"`host:port` of the server (TEMPORAL_ADDRESS; default 127.0.0.1:7233)")
	f.StringVarP(&c.namespace, "namespace", "n", "",
		"`name` of the namespace (TEMPORAL_NAMESPACE; default \"default\")")
	f.StringVar(&c.apiKey, "api-key", "", "API `key`; enables TLS (TEMPORAL_API_KEY)")
	f.StringVar(&c.profile, "profile", "",
		"`name` of the profile in the config file (TEMPORAL_PROFILE)")
	f.StringVar(&c.configFile, "config-file", "",
		"TOML `file` with profiles, in the format of the Temporal CLI (TEMPORAL_CONFIG_FILE)")
	f.BoolVar(&c.tls, "tls", false, "use TLS; --tls=false disables it (TEMPORAL_TLS)")
	f.StringVar(&c.cert, "tls-cert-path", "",
		"`file` of the client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH)")
	f.StringVar(&c.key, "tls-key-path", "",
		"`file` of the client key (TEMPORAL_TLS_CLIENT_KEY_PATH)")
	f.StringVar(&c.authority, "tls-ca-path", "",
		"`file` of the CA certificate of the server (TEMPORAL_TLS_SERVER_CA_CERT_PATH)")
	f.StringVar(&c.tlsName, "tls-server-name", "",
		"expected `name` in the server's certificate (TEMPORAL_TLS_SERVER_NAME)")
	f.BoolVar(&c.tlsNoHostCheck, "tls-disable-host-verification", false,
		"accept any server certificate")
	c.Payloads.Flags(f.StringVar)
	f.StringVar(&c.UI, "ui-address", "",
		"`URL` of the Web UI, for links (SWITCHYARD_UI; default http://127.0.0.1:8233 for a local server)")
}

// options merges flags, environment and profile.
func (c *Connection) options(flags *pflag.FlagSet) (client.Options, error) {
	profile, err := c.surroundings()
	if err != nil {
		return client.Options{}, err
	}
	profile.Address = cmp.Or(c.address, profile.Address, client.DefaultHostPort)
	profile.Namespace = cmp.Or(c.namespace, profile.Namespace, client.DefaultNamespace)
	profile.APIKey = cmp.Or(c.apiKey, profile.APIKey)
	c.applyTLS(&profile, flags)
	c.ResolvedAddress, c.ResolvedNamespace = profile.Address, profile.Namespace
	if _, _, err := net.SplitHostPort(profile.Address); err != nil {
		return client.Options{},
			Errorf(ExitUsage, "the server's address %q is not host:port: correct --address or TEMPORAL_ADDRESS",
				profile.Address)
	}
	if err := c.checkTLSFiles(); err != nil {
		return client.Options{}, err
	}
	options, err := profile.ToClientOptions(
		envconfig.ToClientOptionsRequest{IncludeRemoteCodec: true})
	if err != nil {
		return client.Options{}, Errorf(ExitUsage, "the connection's settings: %w", err)
	}
	// Discard the SDK's log messages, which would mix with the command's output.
	options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	options.Identity = "starter@" + hostname()
	storage, err := c.Storage()
	if err != nil {
		return client.Options{}, err
	}
	c.Opened = storage
	return options, storage.Apply(&options)
}

// Storage returns the payload storage that flags and environment configure.
func (c *Connection) Storage() (*payloads.Storage, error) {
	storage, err := payloads.Open(c.Payloads.Or(payloads.FromEnvironment(os.Getenv)))
	if err != nil {
		return nil, Errorf(ExitUsage, "%w", err)
	}
	return storage, nil
}

func (c *Connection) applyTLS(p *envconfig.ClientConfigProfile, flags *pflag.FlagSet) {
	t := envconfig.ClientConfigTLS{}
	if p.TLS != nil {
		t = *p.TLS
	}
	t.ClientCertPath, t.ClientKeyPath = cmp.Or(c.cert, t.ClientCertPath),
		cmp.Or(c.key, t.ClientKeyPath)
	t.ServerCACertPath, t.ServerName = cmp.Or(c.authority, t.ServerCACertPath),
		cmp.Or(c.tlsName, t.ServerName)
	t.DisableHostVerification = t.DisableHostVerification || c.tlsNoHostCheck
	named := c.cert != "" || c.key != "" || c.authority != "" || c.tlsName != "" || c.tlsNoHostCheck
	if flags.Changed("tls") {
		t.Disabled, named = !c.tls, true
	}
	if named {
		p.TLS = &t
	}
}

// Connect returns a client after the server has answered. The caller closes it.
func (a *App) Connect(ctx context.Context, flags *pflag.FlagSet) (client.Client, error) {
	options, err := a.Connection.options(flags)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// unreachable returns a message with the server's address and how to start one.
func (c *Connection) unreachable(err error) string {
	return fmt.Sprintf("no Temporal server answers at %s (%v)\nStart one on this machine: %s dev\nOr select another: --address host:port, --profile NAME, TEMPORAL_ADDRESS",
		cmp.Or(c.ResolvedAddress, c.address, client.DefaultHostPort), err, c.Called())
}

// StoresPayloads reports whether payloads are encoded or stored outside the server.
func (c *Connection) StoresPayloads() bool {
	return c.Payloads.Or(payloads.FromEnvironment(os.Getenv)) != payloads.Config{}
}
