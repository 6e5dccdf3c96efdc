// Package connection connects worker and starter to a Temporal server: flags, variables and
// profiles with the names of the Temporal CLI, and explanations of failed connections.
package connection

import (
	"cmp"
	"errors"
	"fmt"
	"net"

	"github.com/switchyard/switchyard/internal/value/display"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

// Flags are the connection flags of a program. TEMPORAL_* variables apply to what is not given,
// then the profile of the configuration file.
type Flags struct {
	Address, Namespace string
	// Local ignores the environment and profiles, for a development server.
	Local bool

	Profile, ConfigFile string
	APIKey              string
	// The files of TLS, and the name expected in the server's certificate.
	TLSCertPath, TLSKeyPath, TLSCAPath, TLSServerName string
	TLSDisableHostVerification                        bool
	// TLS is nil if --tls is not given.
	TLS *bool
}

// FlagSet is a flag set of pflag. Programs that only connect do not need that module.
type FlagSet interface {
	StringVar(p *string, name, value, usage string)
	BoolVar(p *bool, name string, value bool, usage string)
	BoolFunc(name, usage string, set func(string) error)
}

// setting is a flag with a text.
type setting struct {
	name, usage string
	of          func(*Flags) *string
	// secret values never appear in printed commands.
	secret bool
}

// The flags with files of TLS.
const (
	flagCert      = "tls-cert-path"
	flagKey       = "tls-key-path"
	flagAuthority = "tls-ca-path"
)

var settings = []setting{
	{name: "address", of: func(f *Flags) *string { return &f.Address },
		usage: "`host:port` of the server (TEMPORAL_ADDRESS; default " + client.DefaultHostPort +
			")"},
	{name: "namespace", of: func(f *Flags) *string { return &f.Namespace },
		usage: "`name` of the namespace (TEMPORAL_NAMESPACE; default \"" +
			client.DefaultNamespace + "\")"},
	{name: "api-key", of: func(f *Flags) *string { return &f.APIKey }, secret: true,
		usage: "API `key`; enables TLS (TEMPORAL_API_KEY, which hides it from other users)"},
	{name: "profile", of: func(f *Flags) *string { return &f.Profile },
		usage: "`name` of the profile in the configuration file (TEMPORAL_PROFILE)"},
	{name: "config-file", of: func(f *Flags) *string { return &f.ConfigFile },
		usage: "TOML `file` with profiles, in the format of the Temporal CLI " +
			"(TEMPORAL_CONFIG_FILE)"},
	{name: flagCert, of: func(f *Flags) *string { return &f.TLSCertPath },
		usage: "`file` of the client certificate, read again for each connection " +
			"(TEMPORAL_TLS_CLIENT_CERT_PATH)"},
	{name: flagKey, of: func(f *Flags) *string { return &f.TLSKeyPath },
		usage: "`file` of the client key (TEMPORAL_TLS_CLIENT_KEY_PATH)"},
	{name: flagAuthority, of: func(f *Flags) *string { return &f.TLSCAPath },
		usage: "`file` of the CA certificate of the server (TEMPORAL_TLS_SERVER_CA_CERT_PATH)"},
	{name: "tls-server-name", of: func(f *Flags) *string { return &f.TLSServerName },
		usage: "expected `name` in the server's certificate (TEMPORAL_TLS_SERVER_NAME)"},
}

// Register defines the flags.
func (f *Flags) Register(set FlagSet) {
	for _, s := range settings {
		set.StringVar(s.of(f), s.name, "", s.usage)
	}
	set.BoolFunc("tls", "use TLS; --tls=false disables it (TEMPORAL_TLS)", f.setTLS)
	set.BoolVar(&f.TLSDisableHostVerification, "tls-disable-host-verification", false,
		"accept any server certificate (TEMPORAL_TLS_DISABLE_HOST_VERIFICATION)")
}

func (f *Flags) setTLS(value string) error {
	switch value {
	case "true":
		f.TLS = new(true)
	case "false":
		f.TLS = new(false)
	default:
		return errors.New("use true or false")
	}
	return nil
}

// Names returns the names of all flags.
func Names() []string {
	names := []string{"tls", "tls-disable-host-verification"}
	for _, s := range settings {
		names = append(names, s.name)
	}
	return names
}

// Arguments returns the given flags for another program, each preceded by a space and quoted for a
// shell. The API key is left out, because the text is printed. Environment and profiles apply to
// the other program as well.
func (f *Flags) Arguments() string {
	text := ""
	for _, s := range settings {
		value := *s.of(f)
		if s.secret || value == "" || value == client.DefaultNamespace && s.name == "namespace" {
			continue
		}
		text += " --" + s.name + " " + display.ShellWord(value)
	}
	if f.TLS != nil {
		text += fmt.Sprintf(" --tls=%t", *f.TLS)
	}
	if f.TLSDisableHostVerification {
		text += " --tls-disable-host-verification"
	}
	return text
}

// Options merges flags, environment and profile. Address and namespace are empty if nothing names
// them. With remoteCodec the codec server of the profile decodes payloads. Errors name the setting.
func (f *Flags) Options(remoteCodec bool) (client.Options, error) {
	profile, err := f.surroundings()
	if err != nil {
		return client.Options{}, err
	}
	profile.Address = cmp.Or(f.Address, profile.Address)
	profile.Namespace = cmp.Or(f.Namespace, profile.Namespace)
	profile.APIKey = cmp.Or(f.APIKey, profile.APIKey)
	f.applyTLS(&profile)
	if _, _, err := net.SplitHostPort(profile.Address); err != nil && profile.Address != "" {
		return client.Options{}, fmt.Errorf(
			"the server's address %q is not host:port: correct --address or TEMPORAL_ADDRESS",
			profile.Address)
	}
	if err := f.checkTLS(profile.TLS); err != nil {
		return client.Options{}, err
	}
	options, err := profile.ToClientOptions(
		envconfig.ToClientOptionsRequest{IncludeRemoteCodec: remoteCodec})
	if err != nil {
		return client.Options{}, fmt.Errorf("the connection's settings: %w", err)
	}
	reloadCertificate(options.ConnectionOptions.TLS, profile.TLS)
	return options, nil
}

// applyTLS adds the TLS flags to a profile.
func (f *Flags) applyTLS(p *envconfig.ClientConfigProfile) {
	t := envconfig.ClientConfigTLS{}
	if p.TLS != nil {
		t = *p.TLS
	}
	if f.TLSCertPath+f.TLSKeyPath != "" { // the data of the environment would contradict the files
		t.ClientCertData, t.ClientKeyData = nil, nil
	}
	if f.TLSCAPath != "" {
		t.ServerCACertData = nil
	}
	t.ClientCertPath, t.ClientKeyPath = cmp.Or(f.TLSCertPath, t.ClientCertPath),
		cmp.Or(f.TLSKeyPath, t.ClientKeyPath)
	t.ServerCACertPath, t.ServerName = cmp.Or(f.TLSCAPath, t.ServerCACertPath),
		cmp.Or(f.TLSServerName, t.ServerName)
	t.DisableHostVerification = t.DisableHostVerification || f.TLSDisableHostVerification
	named := f.TLSCertPath + f.TLSKeyPath + f.TLSCAPath + f.TLSServerName
	if named != "" || f.TLSDisableHostVerification || f.TLS != nil {
		t.Disabled = f.TLS != nil && !*f.TLS
		p.TLS = &t
	}
}
