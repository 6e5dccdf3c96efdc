package connection

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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
func (f *Flags) surroundings() (profile envconfig.ClientConfigProfile, err error) {
	if f.Local {
		return profile, nil
	}
	if f.ConfigFile != "" {
		if _, err := os.Stat(f.ConfigFile); err != nil {
			return profile, fmt.Errorf("--config-file %s: %w", f.ConfigFile, fileError(err))
		}
	}
	config, err := envconfig.LoadClientConfig(
		envconfig.LoadClientConfigOptions{ConfigFilePath: f.ConfigFile})
	if err != nil {
		return profile, fmt.Errorf("cannot read the profiles file %s: %w", f.profilesFile(),
			cmp.Or(errors.Unwrap(err), err))
	}
	name := cmp.Or(f.Profile, os.Getenv(profileVariable))
	if name != "" && config.Profiles[name] == nil {
		return profile, f.noProfile(name, slices.Sorted(maps.Keys(config.Profiles)))
	}
	profile, err = envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{
		ConfigFilePath: f.ConfigFile, ConfigFileProfile: f.Profile,
	})
	if err != nil {
		return profile, fmt.Errorf("the connection's settings: %w", err)
	}
	return profile, nil
}

// Codec returns the URL of the remote codec that the profile or the environment names, and the
// Authorization header for it. Empty if there is none.
func (f *Flags) Codec() (endpoint, authorization string) {
	profile, err := f.surroundings()
	if err != nil || profile.Codec == nil {
		return "", ""
	}
	return profile.Codec.Endpoint, profile.Codec.Auth
}

// profilesFile returns the path of the profiles file.
func (f *Flags) profilesFile() string {
	return cmp.Or(f.ConfigFile, os.Getenv(configFileVariable), envconfig.DefaultConfigFilePath())
}

// noProfile returns the error that the profile is unknown, with the existing names.
func (f *Flags) noProfile(name string, names []string) error {
	source := "--profile"
	if f.Profile == "" {
		source = profileVariable
	}
	file := f.profilesFile()
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("%s %s: the profiles file %s does not exist\n"+
			"Leave out %s, or pass the file: --config-file FILE", source, name, file, source)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s %s: the file %s has no profiles", source, name, file)
	}
	return fmt.Errorf("%s %s: the file %s does not have this profile; it has: %s", source, name,
		file, strings.Join(names, ", "))
}

// fileError returns a file's error without the system call and the path.
func fileError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the file does not exist")
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
