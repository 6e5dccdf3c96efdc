package payloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.temporal.io/sdk/converter"
)

// The values of Config.Compression.
const (
	CompressionZstd = "zstd"
	CompressionNone = "none"
)

// DefaultThreshold is the size in bytes from which on a payload goes to the store.
const DefaultThreshold = 256 << 10

// leastThreshold keeps references from taking more room than what they stand for.
const leastThreshold = 1 << 10

// Config says how payloads are stored. With the zero value they are in history, as they are. It is a program's command line
// and environment, so its values are text.
type Config struct {
	// Store is where payloads of Threshold bytes or more go, and whole results of which runs hold a part:
	// file:///folder or s3://bucket/prefix?endpoint=URL&region=NAME; empty for history.
	Store string
	// Threshold is a number of bytes; default DefaultThreshold.
	Threshold string
	// Keys is the file with the keys that payloads are encrypted with; empty for none.
	Keys string
	// Compression is CompressionZstd or CompressionNone; default zstd where there are Keys or a Store, since neither leaves
	// payloads readable on the server, and none otherwise.
	Compression string
}

// The settings' names as flags; as variables of the environment they are written SWITCHYARD_PAYLOAD_STORE and so on.
const (
	flagStore       = "payload-store"
	flagThreshold   = "payload-threshold"
	flagKeys        = "payload-keys"
	flagCompression = "payload-compression"
)

// setting is one field of a Config with its names and what it is for.
type setting struct {
	flag, variable, usage string
	of                    func(*Config) *string
}

var settings = []setting{
	{flagStore, "SWITCHYARD_PAYLOAD_STORE", "where payloads too large for history go: file:///`FOLDER` or s3://bucket/prefix?endpoint=…&region=…",
		func(c *Config) *string { return &c.Store }},
	{flagThreshold, "SWITCHYARD_PAYLOAD_THRESHOLD", "size in `bytes` from which on they go there; default 262144",
		func(c *Config) *string { return &c.Threshold }},
	{flagKeys, "SWITCHYARD_PAYLOAD_KEYS", "`file` with the keys that payloads are encrypted with",
		func(c *Config) *string { return &c.Keys }},
	{flagCompression, "SWITCHYARD_PAYLOAD_COMPRESSION", "`zstd|none`; default zstd with a store or keys, else none",
		func(c *Config) *string { return &c.Compression }},
}

// Flags adds the settings to a command line; add is the method StringVar of a set of flags, of the standard library or
// of pflag.
func (c *Config) Flags(add func(p *string, name, value, usage string)) {
	for _, s := range settings {
		add(s.of(c), s.flag, "", s.usage+" ("+s.variable+")")
	}
}

// Arguments are the settings as flags, for a program that this one starts.
func (c Config) Arguments() []string {
	var args []string
	for _, s := range settings {
		if value := *s.of(&c); value != "" {
			args = append(args, "--"+s.flag, value)
		}
	}
	return args
}

// Or returns c with what it leaves open taken from other.
func (c Config) Or(other Config) Config {
	for _, s := range settings {
		*s.of(&c) = cmp.Or(*s.of(&c), *s.of(&other))
	}
	return c
}

// FromEnvironment returns what the environment says; lookup is os.Getenv.
func FromEnvironment(lookup func(string) string) Config {
	var c Config
	for _, s := range settings {
		*s.of(&c) = lookup(s.variable)
	}
	return c
}

// Open checks a configuration, reads the keys, and returns what it comes to. Errors name the setting, and are
// strictyaml.Faults where the file of keys is wrong.
func Open(c Config) (*Storage, error) {
	var faults []error
	s := &Storage{recent: newRecent(recentBytes)}
	var err error
	if s.threshold, err = threshold(c.Threshold); err != nil {
		faults = append(faults, err)
	}
	if c.Store != "" {
		if s.store, err = openStore(c.Store); err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", flagStore, err))
		}
	}
	if c.Keys != "" {
		if s.codec.ring, err = LoadKeys(c.Keys); err != nil {
			faults = append(faults, err)
		}
	}
	if s.codec.least, err = c.compressFrom(); err != nil {
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	s.converter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), &s.codec)
	return s, nil
}

func threshold(text string) (int, error) {
	if text == "" {
		return DefaultThreshold, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < leastThreshold {
		return 0, fmt.Errorf("--%s %q is not a number of bytes; the least is %d", flagThreshold, text, leastThreshold)
	}
	return n, nil
}

const (
	// compressReadable is the size from which on payloads are compressed that a server could show otherwise.
	compressReadable = 16 << 10
	// compressSealed is the size from which on those are that nobody can read without the keys.
	compressSealed = 1 << 10
)

// compressFrom returns the size from which on payloads are compressed; zero for never.
func (c Config) compressFrom() (int, error) {
	compression := c.Compression
	if compression == "" && (c.Store != "" || c.Keys != "") {
		compression = CompressionZstd
	}
	switch {
	case compression == "" || compression == CompressionNone:
		return 0, nil
	case compression != CompressionZstd:
		return 0, fmt.Errorf("--%s %q: choose %s or %s", flagCompression, c.Compression, CompressionZstd, CompressionNone)
	case c.Keys != "":
		return compressSealed, nil
	}
	return compressReadable, nil
}

// Check stores something small and reads it again, where there is a store, so that a worker that could not use it does
// not start.
func (s *Storage) Check(ctx context.Context) error {
	if s.store == nil {
		return nil
	}
	key, err := s.put(ctx, []byte("Switchyard looks whether this store can be used.\n"))
	if err == nil {
		_, err = s.store.Get(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("the payload store cannot be used: %w", err)
	}
	return nil
}
