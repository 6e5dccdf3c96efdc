package export

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/switchyard/switchyard/api"
)

// The writer holds one row group in memory. It writes the group when it has groupRows rows, or
// about groupBytes bytes of documents.
const (
	groupRows  = 10_000
	groupBytes = 16 << 20
)

// physical has the Go type and the tag of a Parquet column of each type. Every column may be null.
var physical = map[columnType]struct {
	of  reflect.Type
	tag string
}{
	text:      {reflect.TypeFor[*string](), "optional"},
	keyword:   {reflect.TypeFor[*string](), "optional,dict"},
	integer:   {reflect.TypeFor[*int64](), "optional"},
	number:    {reflect.TypeFor[*float64](), "optional"},
	boolean:   {reflect.TypeFor[*bool](), "optional"},
	timestamp: {reflect.TypeFor[*time.Time](), "optional,timestamp(microsecond)"},
	document:  {reflect.TypeFor[*string](), "optional"},
}

// schema returns the schema of an export. A struct keeps the order of the columns.
func schema() *parquet.Schema {
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		p := physical[c.of]
		tag := fmt.Sprintf("parquet:%q", c.name+","+p.tag)
		fields[i] = reflect.StructField{
			Name: fmt.Sprintf("Column%d", i),
			Type: p.of,
			Tag:  reflect.StructTag(tag),
		}
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

// NewParquet writes records as Parquet, compressed with zstd, in groups of rows, so that memory
// does not grow with their number. Times are timestamps in microseconds and UTC, documents are
// JSON text.
func NewParquet(w io.Writer) Exporter {
	return &parquetExport{
		w: parquet.NewGenericWriter[any](w, schema(), parquet.Compression(&zstd.Codec{}),
			parquet.CreatedBy("switchyard", "1", "audit")),
	}
}

type parquetExport struct {
	w *parquet.GenericWriter[any]
	// rows and bytes are those of the group that is being collected.
	rows, bytes int
}

// Write adds one record and writes the group if it is full.
func (x *parquetExport) Write(r api.Record) error {
	row := make(parquet.Row, len(columns))
	for i, c := range columns {
		v, err := c.valueOf(&r)
		if err != nil {
			return fmt.Errorf("column %s of call %s: %w", c.name, r.CallID, err)
		}
		row[i] = parquetValue(v, i)
		if data, ok := v.(json.RawMessage); ok {
			x.bytes += len(data)
		}
	}
	if _, err := x.w.WriteRows([]parquet.Row{row}); err != nil {
		return err
	}
	x.rows++
	if x.rows < groupRows && x.bytes < groupBytes {
		return nil
	}
	x.rows, x.bytes = 0, 0
	return x.w.Flush()
}

func parquetValue(v any, index int) parquet.Value {
	var value parquet.Value
	switch v := v.(type) {
	case string:
		value = parquet.ByteArrayValue([]byte(v))
	case json.RawMessage:
		value = parquet.ByteArrayValue(v)
	case int:
		value = parquet.Int64Value(int64(v))
	case float64:
		value = parquet.DoubleValue(v)
	case bool:
		value = parquet.BooleanValue(v)
	case time.Time:
		value = parquet.Int64Value(v.UnixMicro())
	default:
		return parquet.NullValue().Level(0, 0, index)
	}
	return value.Level(0, 1, index)
}

// Close writes the last group and the index of the file. There is no seal: a table has no lines to
// chain.
func (x *parquetExport) Close() (string, error) { return "", x.w.Close() }
