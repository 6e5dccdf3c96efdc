package payloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"go.temporal.io/sdk/converter"
)

// Values of Config.Compression.
const (
	compressionZstd = "zstd"
	CompressionNone = "none"
)

// defaultThreshold is the default minimum size of payloads in the store, in bytes.
const defaultThreshold = 256 << 10

// leastThreshold ensures that a reference is smaller than its payload.
const leastThreshold = 1 << 10

// Config configures how payloads are stored. With the zero value they stay in the history,
// unchanged. Its values are text, because they come from a command line and the environment.
type Config struct {
	// Store is the store for payloads of Threshold bytes or more and for whole results that are
	// truncated in runs: file:///folder or s3://bucket/prefix?endpoint=URL&region=NAME; empty for
	// the history.
	Store string
	// Threshold is a number of bytes; default defaultThreshold.
	Threshold string
	// Keys is the file of encryption keys; empty for no encryption.
	Keys string
	// Compression is compressionZstd or CompressionNone. The default is zstd with Keys or a Store,
	// which make payloads unreadable on the server anyway, else none.
	Compression string
}

// Flags of the settings. The variables are SWITCHYARD_PAYLOAD_STORE and so on.
const (
	flagStore       = "payload-store"
	flagThreshold   = "payload-threshold"
	flagKeys        = "payload-keys"
	flagCompression = "payload-compression"
)

// setting is a field of Config with its flag, variable and help text.
type setting struct {
	flag, variable, usage string
	of                    func(*Config) *string
}

var settings = []setting{
	{flagStore, "SWITCHYARD_PAYLOAD_STORE", "store for payloads too large for the history: " +
		"file:///`FOLDER` or s3://bucket/prefix?endpoint=…&region=…",
		func(c *Config) *string { return &c.Store }},
	{flagThreshold, "SWITCHYARD_PAYLOAD_THRESHOLD", "minimum size of stored payloads in `bytes`; " +
		"default 262144",
		func(c *Config) *string { return &c.Threshold }},
	{flagKeys, "SWITCHYARD_PAYLOAD_KEYS", "`file` with the encryption keys of payloads",
		func(c *Config) *string { return &c.Keys }},
	{flagCompression, "SWITCHYARD_PAYLOAD_COMPRESSION",
		"`zstd|none`; default zstd with a store or keys, else none",
		func(c *Config) *string { return &c.Compression }},
}

// Flags adds the settings to a command line. add is the method StringVar of a flag set, of the
// standard library or of pflag.
func (c *Config) Flags(add func(p *string, name, value, usage string)) {
	for _, s := range settings {
		add(s.of(c), s.flag, "", s.usage+" ("+s.variable+")")
	}
}

// Arguments returns the settings as flags for another program.
func (c Config) Arguments() []string {
	var args []string
	for _, s := range settings {
		if value := *s.of(&c); value != "" {
			args = append(args, "--"+s.flag, value)
		}
	}
	return args
}

// Or returns c with its empty fields taken from other.
func (c Config) Or(other Config) Config {
	for _, s := range settings {
		*s.of(&c) = cmp.Or(*s.of(&c), *s.of(&other))
	}
	return c
}

// FromEnvironment returns the settings of the environment. lookup is os.Getenv.
func FromEnvironment(lookup func(string) string) Config {
	var c Config
	for _, s := range settings {
		*s.of(&c) = lookup(s.variable)
	}
	return c
}

// Open validates a configuration, reads the keys and opens the store. Errors name the setting;
// faults of the key file are strictyaml.Faults.
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
		s.place = redactStore(c.Store)
	}
	if c.Keys != "" {
		if s.codec.ring, err = loadKeys(c.Keys); err != nil {
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

// redactStore returns the address of a store without user and query.
func redactStore(store string) string {
	u, err := url.Parse(store)
	if err != nil {
		return "the store" // openStore reports it
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func threshold(text string) (int, error) {
	if text == "" {
		return defaultThreshold, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < leastThreshold {
		return 0, fmt.Errorf("--%s %q is not a number of bytes; the minimum is %d", flagThreshold,
			text, leastThreshold)
	}
	return n, nil
}

const (
	// compressReadable is the minimum size of compressed payloads that the server could show
	// otherwise.
	compressReadable = 16 << 10
	// compressSealed is the minimum size of compressed payloads that are encrypted as well.
	compressSealed = 1 << 10
)

// compressFrom returns the minimum size of compressed payloads; zero for no compression.
func (c Config) compressFrom() (int, error) {
	compression := c.Compression
	if compression == "" && (c.Store != "" || c.Keys != "") {
		compression = compressionZstd
	}
	switch {
	case compression == "" || compression == CompressionNone:
		return 0, nil
	case compression != compressionZstd:
		return 0, fmt.Errorf("--%s %q: choose %s or %s", flagCompression, c.Compression,
			compressionZstd, CompressionNone)
	case c.Keys != "":
		return compressSealed, nil
	}
	return compressReadable, nil
}

// Check writes to the store and reads back, so that a worker that cannot use its store does not
// start. Without a store it does nothing.
func (s *Storage) Check(ctx context.Context) error {
	if s.store == nil {
		return nil
	}
	key, err := s.put(ctx, []byte("Switchyard checks that this store is usable.\n"))
	if err == nil {
		_, err = s.store.Get(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("payload store not usable: %w", err)
	}
	return nil
}
