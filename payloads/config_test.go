package payloads

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// writeFile writes a file into a folder of the test and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// keysText returns a key file with new keys.
func keysText(t *testing.T, active string, ids ...string) string {
	t.Helper()
	text := "active: " + active + "\nkeys:\n"
	for _, id := range ids {
		variable := "TEST_KEY_" + strings.ToUpper(id)
		if os.Getenv(variable) == "" {
			t.Setenv(variable, NewKey())
		}
		text += "  " + id + ": env:" + variable + "\n"
	}
	return text
}

func open(t *testing.T, c Config) *Storage {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpen_ReportsEveryFaultWithItsFlag(t *testing.T) {
	file := writeFile(t, "file", "x")
	missing := filepath.Join(t.TempDir(), "none")
	cases := []struct {
		c    Config
		want string
	}{
		{Config{Store: "s4://bucket"}, "--payload-store: write file:///folder or s3://bucket/prefix?endpoint=URL&region=NAME"},
		{Config{Store: "folder"}, "--payload-store: write file:///folder or s3://bucket/prefix?endpoint=URL&region=NAME"},
		{Config{Store: "file://folder"},
			`--payload-store: "file://folder": write file:/// and an absolute path`},
		{Config{Store: "file:///a?b=c"},
			`--payload-store: "file:///a?b=c": write file:/// and an absolute path`},
		{Config{Store: "file://" + missing}, "--payload-store: folder " + missing +
			" does not exist; create it with mkdir -p " + missing},
		{Config{Store: "file://" + file}, "--payload-store: " + file + " is not a folder"},
		{Config{Store: "%zz"},
			`--payload-store: invalid URL: parse "%zz": invalid URL escape "%zz"`},
		{Config{Threshold: "much"},
			`--payload-threshold "much" is not a number of bytes; the minimum is 1024`},
		{Config{Threshold: "1000"},
			`--payload-threshold "1000" is not a number of bytes; the minimum is 1024`},
		{Config{Compression: "gzip"}, `--payload-compression "gzip": choose zstd or none`},
		{Config{Keys: missing}, missing +
			": cannot be read: no such file or directory (--payload-keys or SWITCHYARD_PAYLOAD_KEYS names it)"},
		{Config{Threshold: "0", Compression: "gzip"}, `--payload-threshold "0" is not a number of bytes; the minimum is 1024` +
			"\n" + `--payload-compression "gzip": choose zstd or none`},
	}
	for _, c := range cases {
		_, err := Open(c.c)
		if err == nil {
			t.Errorf("%+v is taken", c.c)
			continue
		}
		if err.Error() != c.want {
			t.Errorf("%+v: got %v, want %s", c.c, err, c.want)
		}
	}
}

func TestConfig_FlagsOverrideTheEnvironment(t *testing.T) {
	environment := map[string]string{"SWITCHYARD_PAYLOAD_STORE": "file:///env",
		"SWITCHYARD_PAYLOAD_KEYS":      "env.yaml",
		"SWITCHYARD_PAYLOAD_THRESHOLD": "5000", "SWITCHYARD_PAYLOAD_COMPRESSION": "none"}
	var c Config
	set := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(set.StringVar)
	args := []string{"--payload-store", "file:///flag", "--payload-compression", "zstd"}
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	if got := c.Arguments(); !reflect.DeepEqual(got, args) {
		t.Errorf("as flags: %q", got)
	}
	want := Config{Store: "file:///flag", Keys: "env.yaml", Threshold: "5000", Compression: "zstd"}
	if got := c.Or(FromEnvironment(func(name string) string {
		return environment[name]
	})); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestConfig_CompressesWhatTheServerCannotShow(t *testing.T) {
	keys := writeFile(t, "keys.yaml", keysText(t, "a", "a"))
	store := "file://" + t.TempDir()
	for _, c := range []struct {
		c    Config
		want int
	}{
		{Config{}, 0}, {Config{Compression: "zstd"}, compressReadable}, {Config{Store: store},
			compressReadable}, {Config{Keys: keys}, compressSealed},
		{Config{Keys: keys, Store: store, Compression: "none"}, 0},
	} {
		if s := open(t, c.c); s.codec.least != c.want || s.threshold != defaultThreshold {
			t.Errorf("%+v: compresses from %d on, stores from %d on", c.c, s.codec.least,
				s.threshold)
		}
	}
}

type ownConverter struct{ converter.DataConverter }

func TestApply_KeepsConvertersAndRejectsASecondStorage(t *testing.T) {
	s := open(t, Config{Store: "file://" + t.TempDir(), Threshold: "2048"})
	own := ownConverter{converter.GetDefaultDataConverter()}
	o := client.Options{DataConverter: own}
	if err := s.Apply(&o); err != nil || o.ExternalStorage.PayloadSizeThreshold != 2048 ||
		len(o.ExternalStorage.Drivers) != 1 ||
		o.DataConverter == converter.DataConverter(own) || o.FailureConverter == nil ||
		len(o.ConnectionOptions.DialOptions) != 1 {
		t.Errorf("got %+v, %v", o, err)
	}
	if err := s.Apply(&o); err == nil || err.Error() != "the connection already has an external storage; remove it or --payload-store" {
		t.Errorf("a second external storage: %v", err)
	}
	var plain client.Options
	if err := open(t, Config{}).Apply(&plain); err != nil ||
		len(plain.ExternalStorage.Drivers) != 0 {
		t.Errorf("got %+v, %v", plain, err)
	}
}
