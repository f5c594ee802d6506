package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// everyType has rows of everything that a table can have, and NULLs of it.
const everyType = `SELECT i, CASE WHEN i % 3 > 0 THEN CAST('00000000-0000-0000-0000-0000000000' || lpad(i::text, 2, '0') AS UUID) END AS u,
	CASE WHEN i % 3 > 0 THEN CAST('{"a": [' || i || ', null], "b": "ä"}' AS JSON) END AS j, [CAST('11111111-2222-3333-4444-555555555555' AS UUID), NULL] AS us,
	{'j': CAST('[1, 2]' AS JSON), 'i': i} AS s, MAP {'k' || i: CAST('true' AS JSON)} AS m, i % 2 = 0 AS b, CAST(i AS HUGEINT) * 1000000000000 AS h,
	CAST(i AS DECIMAL(9,2)) AS d, CAST(i AS DECIMAL(30,5)) AS wide, 'text ' || i % 5 AS few, repeat('text ' || i, 5) AS long, ('bytes' || i)::blob AS raw,
	DATE '2024-01-01' + i::int AS day, TIME '10:00:00' AS t, TIMESTAMP '2024-01-01 10:00:00' AS ts, TIMESTAMPTZ '2024-01-01 10:00:00+00' AS tz,
	INTERVAL 1 MONTH + INTERVAL (i) DAY AS iv, i / 7.0::float8 AS f, [[i], []] AS nested FROM range(40) r(i)`

func arrowFiles(t *testing.T) (e *engine.Engine, s *engine.Session, dir string) {
	t.Helper()
	dir = t.TempDir()
	e = open(t, func(c *engine.Config) { c.Files = engine.FileAccess{Directories: []string{dir}} })
	return e, session(t, e), dir
}

// TestArrowFilesThereAndBack: what a table has comes back from an Arrow file, by COPY and by Load, and the types with it.
func TestArrowFilesThereAndBack(t *testing.T) {
	t.Parallel()
	e, s, dir := arrowFiles(t)
	exec(t, s, "CREATE TABLE t AS "+everyType)
	want, types := rows(t, s, "SELECT * FROM t ORDER BY i"), rows(t, s, "DESCRIBE t")
	require.Contains(t, types[1], "UUID")
	for at, how := range []string{"a.arrow", "b.feather' (FORMAT arrow, COMPRESSION zstd) --", "c.arrows' (COMPRESSION lz4) --"} {
		name, _, _ := strings.Cut(how, "'")
		file := filepath.Join(dir, name)
		require.Equal(t, "COPY 40", exec(t, s, "COPY t TO '"+filepath.Join(dir, how)+"'").Tag)
		exec(t, s, "CREATE OR REPLACE TABLE back AS SELECT * FROM t LIMIT 0")
		require.Equal(t, "COPY 40", exec(t, s, "COPY back FROM '"+file+"'").Tag)
		require.Equal(t, want, rows(t, s, "SELECT * FROM back ORDER BY i"), how)
		_, err := e.Load(context.Background(), noderpc.LoadRequest{Table: catalog.TableName{Name: "loaded"}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: noderpc.LoadReplace}}, nil)
		require.NoError(t, err)
		require.Equal(t, types, rows(t, s, "DESCRIBE loaded"))
		require.Equal(t, want, rows(t, s, "SELECT * FROM loaded ORDER BY i"), how)
		_, err = e.Load(context.Background(), noderpc.LoadRequest{Table: catalog.TableName{Name: "back"}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend}}, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"80"}, rows(t, s, "SELECT count(*) FROM back"))
		if at == 0 {
			f, err := os.Open(file)
			require.NoError(t, err)
			r, err := ipc.NewFileReader(f)
			require.NoError(t, err)
			require.Equal(t, extensions.NewUUIDType(), r.Schema().Field(1).Type)
			require.Equal(t, "arrow.json", r.Schema().Field(2).Type.(arrow.ExtensionType).ExtensionName())
			require.Equal(t, 1, r.NumRecords(), "batches of 2,048 rows are DuckDB's, and of no use to others")
			require.NoError(t, f.Close())
		}
	}
	exec(t, s, "COPY (SELECT i FROM range(400000) r(i)) TO '"+filepath.Join(dir, "long.arrow")+"'")
	exec(t, s, "CREATE TABLE long (i bigint)")
	exec(t, s, "COPY long FROM '"+filepath.Join(dir, "long.arrow")+"'")
	require.Equal(t, []string{"400000|79999800000"}, rows(t, s, "SELECT count(*), sum(i)::bigint FROM long"))
	left, err := filepath.Glob(filepath.Join(dir, "*writing*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// writeIPC writes one batch, built by fill, as a file.
func writeIPC(t *testing.T, file string, schema *arrow.Schema, fill func(b *array.RecordBuilder)) {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	fill(b)
	batch := b.NewRecordBatch()
	defer batch.Release()
	f, err := os.Create(file)
	require.NoError(t, err)
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	require.NoError(t, err)
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
}

func markedAs(name string, f arrow.Field) arrow.Field {
	f.Metadata = arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{name})
	return f
}

// TestArrowFilesOfOthers: extension types as other programs write them, in all the storage that they may have.
func TestArrowFilesOfOthers(t *testing.T) {
	t.Parallel()
	e, s, dir := arrowFiles(t)
	large, err := extensions.NewJSONType(arrow.BinaryTypes.LargeString)
	require.NoError(t, err)
	view, err := extensions.NewJSONType(arrow.BinaryTypes.StringView)
	require.NoError(t, err)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "large", Type: large, Nullable: true}, {Name: "view", Type: view, Nullable: true}, {Name: "flag", Type: extensions.NewBool8Type(), Nullable: true},
		{Name: "id", Type: extensions.NewUUIDType(), Nullable: true}, {Name: "ids", Type: arrow.ListOf(extensions.NewUUIDType()), Nullable: true},
		{Name: "word", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, Nullable: true},
		{Name: "huge", Type: extensions.NewOpaqueType(&arrow.FixedSizeBinaryType{ByteWidth: 16}, "hugeint", "DuckDB"), Nullable: true},
	}, nil)
	file := filepath.Join(dir, "others.arrow")
	id := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	writeIPC(t, file, schema, func(b *array.RecordBuilder) {
		storage := func(i int) array.Builder { return b.Field(i).(*array.ExtensionBuilder).StorageBuilder() }
		storage(0).(*array.LargeStringBuilder).Append(`{"a": 1}`)
		storage(1).(*array.StringViewBuilder).Append(`[1, "a long text that does not fit into a view"]`)
		b.Field(2).(*extensions.Bool8Builder).Append(true)
		b.Field(3).(*extensions.UUIDBuilder).AppendBytes([16]byte(id))
		b.Field(4).(*array.ListBuilder).Append(true)
		b.Field(4).(*array.ListBuilder).ValueBuilder().(*extensions.UUIDBuilder).AppendBytes([16]byte(id))
		require.NoError(t, b.Field(5).(*array.BinaryDictionaryBuilder).AppendString("word"))
		storage(6).(*array.FixedSizeBinaryBuilder).Append(append([]byte{7}, make([]byte, 15)...))
		for _, f := range b.Fields() {
			f.AppendNull()
		}
	})
	load := func(mode noderpc.LoadMode) {
		_, err := e.Load(context.Background(), noderpc.LoadRequest{Table: catalog.TableName{Name: "t"}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: mode}}, nil)
		require.NoError(t, err)
	}
	load(noderpc.LoadCreate)
	const looked = "SELECT large->>'a', view->>1, flag, id::text, ids::text, word, huge::text FROM t ORDER BY id"
	first := `1|a long text that does not fit into a view|true|00010203-0405-0607-0809-0a0b0c0d0e0f|[00010203-0405-0607-0809-0a0b0c0d0e0f]|word|7`
	null := strings.Repeat("(null)|", 6) + "(null)"
	require.Equal(t, []string{first, null}, rows(t, s, looked))
	load(noderpc.LoadAppend)
	exec(t, s, "COPY t FROM '"+file+"'")
	require.Equal(t, []string{first, first, first, null, null, null}, rows(t, s, looked))
	require.Equal(t, []string{"large|JSON", "view|JSON", "flag|BOOLEAN", "id|UUID", "ids|UUID[]", "word|VARCHAR", "huge|DECIMAL(38,0)"},
		rows(t, s, "SELECT column_name, column_type FROM (DESCRIBE t)"))

	// What is not the table's type is converted, what is missing has its default, and columns have no order for Load.
	exec(t, s, "CREATE TABLE other (n int DEFAULT 5, id text, word text, huge double, flag int)")
	writeIPC(t, file, arrow.NewSchema([]arrow.Field{
		{Name: "word", Type: arrow.BinaryTypes.StringView}, markedAs("arrow.uuid", arrow.Field{Name: "id", Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}}),
	}, nil), func(b *array.RecordBuilder) {
		b.Field(0).(*array.StringViewBuilder).Append("w")
		b.Field(1).(interface{ AppendValueFromString(string) error }).AppendValueFromString("AAECAwQFBgcICQoLDA0ODw==")
	})
	_, err = e.Load(context.Background(), noderpc.LoadRequest{Table: catalog.TableName{Name: "other"}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend}}, nil)
	require.NoError(t, err)
	exec(t, s, "COPY other (word, id) FROM '"+file+"'")
	require.Equal(t, []string{"5|00010203-0405-0607-0809-0a0b0c0d0e0f|w|(null)|(null)"}, rows(t, s, "SELECT DISTINCT * FROM other"))
}

// TestArrowFilesRefused: the error names what is wrong in a file, nothing is stored, and no file is left.
func TestArrowFilesRefused(t *testing.T) {
	t.Parallel()
	e, s, dir := arrowFiles(t)
	exec(t, s, "CREATE TABLE t (a int)")
	text := arrow.Field{Name: "a", Type: arrow.BinaryTypes.String}
	for name, c := range map[string]struct {
		field arrow.Field
		value string
		state string
	}{
		"not JSON":           {markedAs("arrow.json", text), "{oops", "22"},
		"UUID of text":       {markedAs("arrow.uuid", text), "x", "22P04"},
		"bool8 of text":      {markedAs("arrow.bool8", text), "x", "22P04"},
		"opaque of text":     {arrow.Field{Name: "a", Type: text.Type, Metadata: arrow.NewMetadata([]string{"ARROW:extension:name", "ARROW:extension:metadata"}, []string{"arrow.opaque", `{"type_name":"hugeint","vendor_name":"DuckDB"}`})}, "x", "22P04"},
		"unknown extension":  {markedAs("geoarrow.wkb", text), "x", "0A000"},
		"UUID inside of one": {arrow.Field{Name: "a", Type: arrow.ListOfField(markedAs("arrow.uuid", arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Int32}))}, "[1]", "22P04"},
		"UUID too short":     {markedAs("arrow.uuid", arrow.Field{Name: "a", Type: &arrow.FixedSizeBinaryType{ByteWidth: 8}}), "AAECAwQFBgc=", "22P04"},
	} {
		file := filepath.Join(dir, "bad.arrow")
		writeIPC(t, file, arrow.NewSchema([]arrow.Field{c.field}, nil), func(b *array.RecordBuilder) { require.NoError(t, b.Field(0).AppendValueFromString(c.value), name) })
		err := loadFile(e, file)
		require.ErrorContains(t, err, "a", name)
		require.True(t, strings.HasPrefix(sqlState(err), c.state), "%s: %s %v", name, sqlState(err), err)
		_, err = s.Exec(context.Background(), "COPY t FROM '"+file+"'")
		require.Error(t, err, name)
		require.NotEqual(t, "XX000", sqlState(err), "%s: %v", name, err)
	}
	// A file does not bring SQL into a table.
	file := filepath.Join(dir, "default.arrow")
	writeIPC(t, file, arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32, Metadata: arrow.NewMetadata([]string{"csm.default"}, []string{"666"})}, {Name: "b", Type: arrow.PrimitiveTypes.Int32}}, nil),
		func(b *array.RecordBuilder) {
			b.Field(0).(*array.Int32Builder).Append(1)
			b.Field(1).(*array.Int32Builder).Append(2)
		})
	require.NoError(t, loadFile(e, file))
	exec(t, s, "INSERT INTO loaded (b) VALUES (3)")
	require.Equal(t, []string{"(null)"}, rows(t, s, "SELECT a FROM loaded WHERE b = 3"))

	outside := filepath.Join(t.TempDir(), "x.arrow")
	require.NoError(t, os.Rename(file, outside))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.arrow")))
	for _, path := range []string{outside, filepath.Join(dir, "link.arrow"), filepath.Join(dir, "..", filepath.Base(filepath.Dir(outside)), "x.arrow")} {
		for _, sql := range []string{"COPY loaded FROM '%s'", "COPY loaded TO '%s'"} {
			if strings.Contains(sql, "TO") && strings.HasSuffix(path, "link.arrow") {
				continue // it takes the link's place
			}
			_, err := s.Exec(context.Background(), fmt.Sprintf(sql, path))
			require.Equal(t, "42501", sqlState(err), "%s %s: %v", sql, path, err)
		}
	}
	_, err := s.Exec(context.Background(), "COPY t FROM '"+filepath.Join(dir, "none.arrow")+"'")
	require.Equal(t, "58P01", sqlState(err), "%v", err)
	_, err = s.Exec(context.Background(), "COPY (SELECT CASE WHEN i < 300000 THEN i ELSE error('no') END FROM range(400000) r(i)) TO '"+filepath.Join(dir, "failed.arrow")+"'")
	require.Error(t, err)
	left, err := filepath.Glob(filepath.Join(dir, "failed*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestDamagedArrowFiles: cut off and altered anywhere, a file is refused, or is another good one; it ends nothing.
func TestDamagedArrowFiles(t *testing.T) {
	t.Parallel()
	e, s, dir := arrowFiles(t)
	exec(t, s, "CREATE TABLE t AS "+everyType+"; CREATE TABLE back AS SELECT * FROM t LIMIT 0")
	file := filepath.Join(dir, "bad.arrow")
	for _, name := range []string{"good.arrow", "good.arrows"} {
		good := filepath.Join(dir, name)
		exec(t, s, "COPY t TO '"+good+"'")
		data, err := os.ReadFile(good)
		require.NoError(t, err)
		attempt := func(bytes []byte) {
			require.NoError(t, os.WriteFile(file, bytes, 0o600))
			if _, err := s.Exec(context.Background(), "COPY back FROM '"+file+"'"); err != nil {
				require.NotContains(t, []string{"-----", "XX000", ""}, sqlState(err), "%v", err)
				return
			}
			_, _ = tryRows(s, "FROM back")
			exec(t, s, "TRUNCATE back")
		}
		for n := 0; n < len(data); n += 1 + len(data)/20 {
			attempt(data[:n])
		}
		for n := range 50 * testsuite.Effort() {
			bad := append([]byte(nil), data...)
			bad[(n*2654435761+n*n)%len(bad)] ^= byte(1 << (n % 8))
			attempt(bad)
		}
	}
	require.NoError(t, e.CheckSpace(context.Background()))
}
