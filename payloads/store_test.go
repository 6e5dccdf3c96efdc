package payloads

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// files returns the paths of all files below a folder.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestDriver_StoresEqualPayloadsOnceAndWhole(t *testing.T) {
	dir := t.TempDir()
	writer := open(t, Config{Store: "file://" + dir})
	list := []*commonpb.Payload{payload(t, strings.Repeat("a", 1000)), payload(t, []byte{0, 255}),
		payload(t, strings.Repeat("a", 1000)), payload(t, nil)}
	var all sync.WaitGroup
	var claims []converter.StorageDriverClaim
	for i := range 8 {
		all.Go(func() {
			stored, err := driver{writer}.Store(converter.StorageDriverStoreContext{
				Context: t.Context()}, list)
			if err != nil {
				t.Error(err)
			}
			if i == 0 {
				claims = stored
			}
		})
	}
	all.Wait()
	if got := files(t, dir); len(got) != 3 {
		t.Errorf("the store has %q", got)
	}
	reader := open(t, Config{Store: "file://" + dir})
	got, err := driver{reader}.Retrieve(converter.StorageDriverRetrieveContext{
		Context: t.Context()}, claims)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got {
		if !proto.Equal(p, list[i]) {
			t.Errorf("payload %d comes back as %v", i, p)
		}
	}
	if err := reader.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpen_ChoosesTheStoreByScheme(t *testing.T) {
	d := open(t, Config{Store: "file://" + t.TempDir()}).External().Drivers[0]
	if d.Type() != "switchyard.folder" || d.Name() != "switchyard" {
		t.Errorf("got %s, %s", d.Type(), d.Name())
	}
	_, err := Open(Config{Store: "s3://bucket"})
	if err == nil || !strings.Contains(err.Error(), `import _ "github.com/switchyard/switchyard/payloads/s3"`) {
		t.Errorf("a program without the driver: %v", err)
	}
}

func TestGet_NamesTheMissingOrAlteredBlob(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Store: "file://" + dir})
	ref, err := s.Keep(t.Context(), json.RawMessage(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	path := files(t, dir)[0]
	expect := func(c Config, ref, want string) {
		t.Helper()
		_, err := open(t, c).Get(t.Context(), ref)
		if !errors.Is(err, errPayload) || err.Error() != "a payload cannot be read: "+want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	store := Config{Store: "file://" + dir}
	digest := strings.TrimPrefix(ref, referencePrefix)
	expect(Config{}, ref, "it is in a payload store, as "+digest+
		", and none is configured; set --payload-store URL or SWITCHYARD_PAYLOAD_STORE")
	const noReference = " is not a reference to a payload; one is the 64 hex digits of a SHA-256"
	expect(store, "sha256:../../etc/passwd", `"../../etc/passwd"`+noReference)
	expect(store, "", `""`+noReference)
	if err := os.WriteFile(path, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(store, ref, digest+" in the payload store file://"+dir+
		" was altered or is damaged: its SHA-256 is "+
		"f41f3fa625ff120ddca7ef456bf66371ecea23c129f4e4c32367101edb516cf8; restore it from a backup")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect(store, ref, "payload store file://"+dir+" has no file "+path+
		": it was removed or is in another store; restore it or name that store")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil || !strings.HasPrefix(err.Error(),
		"payload store not usable: payload store file://"+dir+": mkdir "+dir) ||
		!strings.HasSuffix(err.Error(), ": not a directory") {
		t.Errorf("a store that cannot be written: %v", err)
	}
	if err := open(t, Config{}).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestKeep_EncryptsAndSurvivesRotation(t *testing.T) {
	dir := t.TempDir()
	c := Config{Store: "file://" + dir, Keys: writeFile(t, "keys.yaml", keysText(t, "a", "a"))}
	value := json.RawMessage(`["` + strings.Repeat("secret ", 1000) + `"]`)
	ref, err := open(t, c).Keep(t.Context(), value)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(files(t, dir)[0])
	if err != nil || bytes.Contains(data, []byte("secret")) || len(data) > len(value)/2 {
		t.Errorf("the store has %d bytes that begin with %.20q, %v", len(data), data, err)
	}
	c.Keys = writeFile(t, "keys.yaml", keysText(t, "b", "a", "b"))
	got, err := open(t, c).Get(t.Context(), ref)
	if err != nil || !bytes.Equal(got, value) {
		t.Errorf("got %.60s, %v", got, err)
	}
	if _, err := open(t, Config{}).Keep(t.Context(), value); err == nil {
		t.Error("a value is stored without a store")
	}
}

func TestRecent_KeepsWhatWasUsedLastWithinItsBound(t *testing.T) {
	r := newRecent(100)
	for i := range 10 {
		r.add(fmt.Sprint(i), make([]byte, 20))
		r.get("0")
	}
	r.add("large", make([]byte, 26))
	var hosted []string
	for _, k := range []string{"0", "1", "5", "6", "7", "8", "9", "large"} {
		if _, ok := r.get(k); ok {
			hosted = append(hosted, k)
		}
	}
	if got := strings.Join(hosted, " "); got != "0 6 7 8 9" || r.size != 100 ||
		len(r.byKey) != r.order.Len() {
		t.Errorf("cached: %s, %d bytes", got, r.size)
	}
}
