package columntype_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

func TestRead(t *testing.T) {
	for text, want := range map[string]columntype.Type{
		"integer":                         {DuckDB: "integer"},
		"pg_catalog.int4":                 {DuckDB: "int4"},
		"HUGEINT":                         {DuckDB: "HUGEINT"},
		"int[]":                           {DuckDB: "int[]"},
		"int[3][]":                        {DuckDB: "int[3][]"},
		"integer array":                   {DuckDB: "integer[]"},
		"varchar":                         {DuckDB: "VARCHAR"},
		"varchar[]":                       {DuckDB: "VARCHAR[]"},
		"varchar(3)":                      {DuckDB: "VARCHAR", Declared: columntype.Declared{Name: "varchar", Length: 3}},
		"character varying(10485760)":     {DuckDB: "VARCHAR", Declared: columntype.Declared{Name: "varchar", Length: 10485760}},
		"char":                            {DuckDB: "VARCHAR", Declared: columntype.Declared{Name: "char", Length: 1}},
		"national character (7)":          {DuckDB: "VARCHAR", Declared: columntype.Declared{Name: "char", Length: 7}},
		"bpchar":                          {DuckDB: "VARCHAR", Declared: columntype.Declared{Name: "char"}},
		"float":                           {DuckDB: "float"},
		"float(24)":                       {DuckDB: "REAL"},
		"float(25)":                       {DuckDB: "DOUBLE"},
		"numeric(10,2)":                   {DuckDB: "numeric(10,2)"},
		"timestamp":                       {DuckDB: "TIMESTAMP"},
		"timestamp(6)":                    {DuckDB: "TIMESTAMP"},
		"timestamp(0) without time zone":  {DuckDB: "TIMESTAMP_S"},
		"timestamp(3)":                    {DuckDB: "TIMESTAMP_MS"},
		"timestamp with time zone":        {DuckDB: "TIMESTAMP WITH TIME ZONE"},
		"timestamptz(6)":                  {DuckDB: "TIMESTAMP WITH TIME ZONE"},
		"time with time zone":             {DuckDB: "TIME WITH TIME ZONE"},
		"timetz(6)":                       {DuckDB: "TIME WITH TIME ZONE"},
		"bit varying":                     {DuckDB: "BIT"},
		"varbit[]":                        {DuckDB: "BIT[]"},
		"bitstring":                       {DuckDB: "BIT"},
		"hugeint":                         {DuckDB: "hugeint"},
		"interval":                        {DuckDB: "INTERVAL"},
		"interval(6)":                     {DuckDB: "INTERVAL"},
		"STRUCT (x INTEGER, y VARCHAR[])": {DuckDB: "STRUCT (x INTEGER, y VARCHAR[])"},
		"MAP(VARCHAR, DECIMAL(4,2))":      {DuckDB: "MAP(VARCHAR, DECIMAL(4,2))"},
		"jsonb[]":                         {DuckDB: "json[]"},
		"mood":                            {DuckDB: "mood"},
		"s.mood":                          {DuckDB: "s.mood"},
	} {
		got, err := columntype.Read(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, state := range map[string]string{
		"varchar(0)": "22023", "varchar(10485761)": "22023", "char(0)": "22023", "varchar(3)[]": "0A000", "char[]": "0A000", `"char"`: "0A000", "text(3)": "42601",
		"int4(3)": "42601", "time(3)": "0A000", "timestamp(2)": "0A000", "timestamptz(3)": "0A000", "timetz(3)": "0A000", "time(0) with time zone": "0A000",
		"interval day to second": "0A000", "interval(3)": "0A000", "bit": "0A000", "bit(3)": "0A000", "bit varying(3)": "0A000", "money": "0A000", "citext": "0A000",
		"citext[]": "0A000", "regclass": "0A000", "oid": "0A000", "pg_catalog.oid": "0A000", "xml": "0A000", "serial": "0A000", "enum('b', 'a')": "0A000",
		"STRUCT (x CHAR(3))": "0A000", "MAP (VARCHAR(3), INTEGER)": "0A000", "STRUCT (x TIME(3))": "0A000", "setof int": "42P16", "record": "42P16",
	} {
		_, err := columntype.Read(text)
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e, text)
		require.Equal(t, state, e.State, "%s: %v", text, err)
	}
}

// What is no type at all goes to DuckDB as it is, which has a parser of its own: nothing panics, and nothing is taken for more than it is (T2).
func FuzzRead(f *testing.F) {
	for _, text := range []string{"int", "int[", "varchar(", "varchar(-1)", "int, 1", "int FROM t", "int; DROP TABLE t", "\"", "interval(99999999999)", "char('a')", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if typ, err := columntype.Read(text); err == nil && text != "" && typ.DuckDB == "" {
			t.Fatalf("%q means nothing", text)
		}
	})
}

func TestDeclaredTravels(t *testing.T) {
	plain := arrow.Field{Name: "c", Type: arrow.BinaryTypes.String}
	for _, d := range []columntype.Declared{{Name: "varchar", Length: 3}, {Name: "char", Length: 1}, {Name: "char"}} {
		got, ok := columntype.Of(d.Mark(plain))
		require.True(t, ok)
		require.Equal(t, d, got)
		back, ok := columntype.Declares(d.OID(), d.Modifier())
		require.True(t, ok)
		require.Equal(t, d, back)
		require.Zero(t, columntype.Extension(d.Mark(plain)).Len())
	}
	_, ok := columntype.Of(columntype.Declared{}.Mark(plain))
	require.False(t, ok)
}
