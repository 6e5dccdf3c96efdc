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
		want []string
	}{
		{Config{Store: "s4://bucket"}, []string{"--payload-store", "file:///folder",
			"s3://bucket"}},
		{Config{Store: "folder"}, []string{"--payload-store", "file:///folder"}},
		{Config{Store: "file://folder"}, []string{"--payload-store", "absolute path"}},
		{Config{Store: "file:///a?b=c"}, []string{"--payload-store", "absolute path"}},
		{Config{Store: "file://" + missing}, []string{"--payload-store", "folder " +
			missing + " does not exist", "mkdir -p " + missing}},
		{Config{Store: "file://" + file}, []string{"--payload-store", file + " is not a folder"}},
		{Config{Store: "%zz"}, []string{"--payload-store", "invalid URL"}},
		{Config{Threshold: "much"}, []string{`--payload-threshold "much"`, "the minimum is 1024"}},
		{Config{Threshold: "1000"}, []string{`--payload-threshold "1000"`}},
		{Config{Compression: "gzip"}, []string{`--payload-compression "gzip"`, "zstd or none"}},
		{Config{Keys: missing}, []string{missing, "cannot be read"}},
		{Config{Threshold: "0", Compression: "gzip"}, []string{"--payload-threshold",
			"--payload-compression"}},
	}
	for _, c := range cases {
		_, err := Open(c.c)
		if err == nil {
			t.Errorf("%+v is taken", c.c)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v does not say %q", c.c, err, want)
			}
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
	if err := s.Apply(&o); err == nil || !strings.Contains(err.Error(), "--payload-store") {
		t.Errorf("a second external storage: %v", err)
	}
	var plain client.Options
	if err := open(t, Config{}).Apply(&plain); err != nil ||
		len(plain.ExternalStorage.Drivers) != 0 {
		t.Errorf("got %+v, %v", plain, err)
	}
}
