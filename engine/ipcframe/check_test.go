package ipcframe_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/ipcframe"
)

const limit = 1 << 20

// written is a table with dictionaries, views, nested columns and metadata, as arrow-go writes it.
func written(t testing.TB, stream bool, options ...ipc.Option) []byte {
	t.Helper()
	meta := arrow.NewMetadata([]string{"a"}, []string{"b"})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: meta},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
		{Name: "v", Type: arrow.BinaryTypes.StringView}, {Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}},
		{Name: "l", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "x", Type: arrow.BinaryTypes.Binary}))},
		{Name: "u", Type: arrow.SparseUnionOf([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int32}}, []arrow.UnionTypeCode{3})},
	}, &meta)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for range 3 {
		b.Field(0).(*array.Int64Builder).Append(7)
		require.NoError(t, b.Field(1).(*array.BinaryDictionaryBuilder).AppendString("word"))
		b.Field(2).(*array.StringViewBuilder).Append("longer than twelve bytes")
		b.Field(3).(*array.TimestampBuilder).Append(1)
		b.Field(4).AppendEmptyValue()
		b.Field(5).(*array.SparseUnionBuilder).Append(3)
		b.Field(5).(*array.SparseUnionBuilder).Child(0).(*array.Int32Builder).Append(1)
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	var out bytes.Buffer
	options = append(options, ipc.WithSchema(schema))
	if stream {
		w := ipc.NewWriter(&out, options...)
		require.NoError(t, errors.Join(w.Write(batch), w.Close()))
		return out.Bytes()
	}
	w, err := ipc.NewFileWriter(&out, options...)
	require.NoError(t, err)
	require.NoError(t, errors.Join(w.Write(batch), w.Close()))
	return out.Bytes()
}

func check(data []byte) error { return ipcframe.Check(bytes.NewReader(data), int64(len(data)), limit) }

func TestGoodFilesPass(t *testing.T) {
	for _, stream := range []bool{true, false} {
		require.NoError(t, check(written(t, stream)))
		require.NoError(t, check(written(t, stream, ipc.WithZstd())))
		require.NoError(t, check(written(t, stream, ipc.WithLZ4())))
	}
}

// TestLimit (I2): of what a batch has, and of what it says that it becomes.
func TestLimit(t *testing.T) {
	for name, data := range map[string][]byte{"plain": written(t, true), "packed": written(t, false, ipc.WithZstd())} {
		var large *ipcframe.TooLargeError
		require.ErrorAs(t, ipcframe.Check(bytes.NewReader(data), int64(len(data)), 100), &large, name)
		require.EqualValues(t, 100, large.Limit)
	}
}

// read reads a file to its end as the engine does. What passed the check must cost no process, and no more memory than the limit.
func read(data []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("panic")
		}
	}()
	if stream, err := ipcframe.IsStream(bytes.NewReader(data)); err != nil || !stream {
		r, err := ipc.NewFileReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		for i := range r.NumRecords() {
			if b, err := r.RecordBatchAt(i); err == nil {
				b.Release()
			}
		}
		return nil
	}
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
	}
	return r.Err()
}

// TestEveryByteAltered (I1): each byte of metadata set to extremes. Without the check this ends the process.
func TestEveryByteAltered(t *testing.T) {
	for _, stream := range []bool{true, false} {
		good := written(t, stream)
		for at := range good {
			for _, value := range []byte{0x7f, 0xff, good[at] ^ 0x10} {
				bad := bytes.Clone(good)
				bad[at] = value
				if check(bad) == nil {
					_ = read(bad)
				}
			}
		}
		for n := range good {
			if check(good[:n]) == nil {
				_ = read(good[:n])
			}
		}
		for at := 0; at+4 <= len(good); at += 4 { // lengths that make no sense
			bad := bytes.Clone(good)
			binary.LittleEndian.PutUint32(bad[at:], 0x7ffffff0)
			if check(bad) == nil {
				_ = read(bad)
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, stream := range []bool{true, false} {
		f.Add(written(f, stream))
		f.Add(written(f, stream, ipc.WithLZ4()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1<<16 && check(data) == nil {
			_ = read(data)
		}
	})
}
