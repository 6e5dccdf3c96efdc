package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.temporal.io/sdk/contrib/envconfig"
)

// Environment variables that select the profile and its file.
const (
	profileVariable    = "TEMPORAL_PROFILE"
	configFileVariable = "TEMPORAL_CONFIG_FILE"
)

// surroundings returns the connection settings of profile and environment.
func (c *Connection) surroundings() (envconfig.ClientConfigProfile, error) {
	if c.Local {
		return envconfig.ClientConfigProfile{}, nil
	}
	if c.configFile != "" {
		if _, err := os.Stat(c.configFile); err != nil {
			return envconfig.ClientConfigProfile{}, Errorf(ExitUsage, "--config-file %s: %w",
				c.configFile, PathError(c.configFile, err))
		}
	}
	config, err := envconfig.LoadClientConfig(
		envconfig.LoadClientConfigOptions{ConfigFilePath: c.configFile})
	if err != nil {
		return envconfig.ClientConfigProfile{},
			Errorf(ExitUsage, "cannot read the profiles file %s: %w", c.profilesFile(),
				cmp.Or(errors.Unwrap(err), err))
	}
	if name := cmp.Or(c.profile, os.Getenv(profileVariable)); name != "" &&
		config.Profiles[name] == nil {
		return envconfig.ClientConfigProfile{}, Errorf(ExitUsage, "%s",
			c.noProfile(name, slices.Sorted(maps.Keys(config.Profiles))))
	}
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{
		ConfigFilePath: c.configFile, ConfigFileProfile: c.profile,
	})
	if err != nil {
		return profile, Errorf(ExitUsage, "the connection's settings: %w", err)
	}
	return profile, nil
}

// Codec returns the URL of the remote codec that the profile or the environment names, and the
// Authorization header for it. Empty if there is none.
func (c *Connection) Codec() (endpoint, authorization string) {
	profile, err := c.surroundings()
	if err != nil || profile.Codec == nil {
		return "", ""
	}
	return profile.Codec.Endpoint, profile.Codec.Auth
}

// profilesFile returns the path of the profiles file.
func (c *Connection) profilesFile() string {
	return cmp.Or(c.configFile, os.Getenv(configFileVariable), envconfig.DefaultConfigFilePath())
}

// noProfile returns a message that the profile is unknown, with the existing names.
func (c *Connection) noProfile(name string, names []string) string {
	source := "--profile"
	if c.profile == "" {
		source = profileVariable
	}
	file := c.profilesFile()
	if _, err := os.Stat(file); err != nil {
		return fmt.Sprintf("%s %s: the profiles file %s does not exist\nLeave out %s, or pass the file: --config-file FILE",
			source, name, file, source)
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s %s: the file %s has no profiles", source, name, file)
	}
	return fmt.Sprintf("%s %s: the file %s does not have this profile; it has: %s", source, name,
		file, strings.Join(names, ", "))
}

// checkTLSFiles rejects TLS files that cannot be read.
func (c *Connection) checkTLSFiles() error {
	for _, file := range []struct{ flag, path string }{{"--tls-cert-path", c.cert},
		{"--tls-key-path", c.key}, {"--tls-ca-path", c.authority}} {
		if file.path == "" {
			continue
		}
		if _, err := os.Stat(file.path); err != nil {
			return Errorf(ExitUsage, "%s %s: %w", file.flag, file.path, PathError(file.path, err))
		}
	}
	return nil
}
