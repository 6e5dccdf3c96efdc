package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

func written(t *testing.T, start func(io.Writer) Exporter, r api.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	x := start(&b)
	if err := x.Write(r); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func csvColumns(t *testing.T, data []byte) []string {
	t.Helper()
	header, err := csv.NewReader(bytes.NewReader(data)).Read()
	if err != nil {
		t.Fatal(err)
	}
	return header
}

func TestColumns_AreThoseOfTheHeader(t *testing.T) {
	var want []string
	for _, c := range columns {
		if slices.Contains(want, c.name) {
			t.Errorf("two columns are called %s", c.name)
		}
		want = append(want, c.name)
	}
	for name, r := range map[string]api.Record{"empty": {}, "full": fullRecord()} {
		if got := csvColumns(t, written(t, NewCSV, r)); !slices.Equal(got, want) {
			t.Errorf("CSV of the %s record has the columns %v, want %v", name, got, want)
		}
	}
}

// fullRecord returns a record in which every field is set.
func fullRecord() api.Record {
	var r api.Record
	set(reflect.ValueOf(&r).Elem(), 6)
	r.Arguments = json.RawMessage(`{"a":1}`)
	return r
}

// set makes a value, and what it consists of down to a depth, differ from zero.
func set(v reflect.Value, depth int) {
	if depth == 0 { // of a type that contains itself
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem(), depth-1)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_000_000_000, 0)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				set(v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.Set(reflect.ValueOf(json.RawMessage(`{"a":1}`)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		set(v.Index(0), depth-1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		set(key, depth-1)
		set(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(7)
	}
}

// values returns the value of every column as JSON.
func values(t *testing.T, r api.Record) []string {
	t.Helper()
	list := make([]string, len(columns))
	for i, c := range columns {
		v, err := c.read(&r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = string(data)
	}
	return list
}

func TestColumns_ContainEveryFieldOfARecord(t *testing.T) {
	empty := values(t, api.Record{})
	full := reflect.ValueOf(fullRecord())
	for _, f := range reflect.VisibleFields(full.Type()) {
		if f.Anonymous {
			continue
		}
		var r api.Record
		reflect.ValueOf(&r).Elem().FieldByIndex(f.Index).Set(full.FieldByIndex(f.Index))
		if slices.Equal(values(t, r), empty) {
			t.Errorf("no column holds the field %s of a record", f.Name)
		}
	}
	for i, v := range values(t, fullRecord()) {
		if v == "null" {
			t.Errorf("the column %s is null in a record with all fields", columns[i].name)
		}
	}
}
