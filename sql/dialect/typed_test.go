package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/statement"
)

// TestTypesLeaveTPCH: no sum of TPC-H's, and nothing that is computed of its columns, is another type in DuckDB: the
// benchmark's plans are those of both dialects.
func TestTypesLeaveTPCH(t *testing.T) {
	const integer, text, date, numeric = 23, 25, 1082, 1700
	tables := map[string]string{
		"lineitem": "l_orderkey:i l_partkey:i l_suppkey:i l_linenumber:i l_quantity:n l_extendedprice:n l_discount:n l_tax:n l_returnflag:t " +
			"l_linestatus:t l_shipdate:d l_commitdate:d l_receiptdate:d l_shipinstruct:t l_shipmode:t l_comment:t",
		"orders": "o_orderkey:i o_custkey:i o_orderstatus:t o_totalprice:n o_orderdate:d o_orderpriority:t o_clerk:t o_shippriority:i " +
			"o_comment:t",
		"customer": "c_custkey:i c_name:t c_address:t c_nationkey:i c_phone:t c_acctbal:n c_mktsegment:t c_comment:t",
		"part":     "p_partkey:i p_name:t p_mfgr:t p_brand:t p_type:t p_size:i p_container:t p_retailprice:n p_comment:t",
		"partsupp": "ps_partkey:i ps_suppkey:i ps_availqty:i ps_supplycost:n ps_comment:t",
		"supplier": "s_suppkey:i s_name:t s_address:t s_nationkey:i s_phone:t s_acctbal:n s_comment:t",
		"nation":   "n_nationkey:i n_name:t n_regionkey:i n_comment:t",
		"region":   "r_regionkey:i r_name:t r_comment:t",
	}
	types := map[string]uint32{"i": integer, "t": text, "d": date, "n": numeric}
	find := func(_, _, name string) *pgcatalog.Relation {
		if tables[name] == "" {
			return nil
		}
		r := &pgcatalog.Relation{Schema: "public", Name: name, OID: 1}
		for column := range strings.FieldsSeq(tables[name]) {
			name, kind, _ := strings.Cut(column, ":")
			r.Columns = append(r.Columns, pgcatalog.Column{Name: name, Type: types[kind], Typmod: -1})
		}
		return r
	}
	files, err := filepath.Glob("../../queries/tpch/q*.sql")
	require.NoError(t, err)
	require.Len(t, files, 22)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		given, written, err := Given(lex.Client.Text(strings.TrimSuffix(strings.TrimSpace(string(data)), ";")), PostgresName)
		require.NoError(t, err)
		parsed, err := statement.ParseText(given)
		require.NoError(t, err)
		require.NotNil(t, parsed.Tree, file)
		typed, _, err := written.Typed(parsed, find)
		require.NoError(t, err)
		require.Equal(t, parsed.Text, typed.Text, file)
	}
}

// TestTypedPlaces: an error in a text that types changed points into the user's.
func TestTypedPlaces(t *testing.T) {
	find := func(_, _, _ string) *pgcatalog.Relation {
		return &pgcatalog.Relation{Schema: "public", Name: "t", OID: 1, Columns: []pgcatalog.Column{{Name: "s", Type: 21, Typmod: -1}}}
	}
	for _, users := range []string{"SELECT 1 / s, s * 10, nope FROM t", "SELECT s * 10, nope FROM t"} {
		given, written, err := Given(lex.Client.Text(users), PostgresName)
		require.NoError(t, err)
		parsed, err := statement.ParseText(given)
		require.NoError(t, err)
		typed, written, err := written.Typed(parsed, find)
		require.NoError(t, err)
		require.NotEqual(t, parsed.Text, typed.Text)
		require.Equal(t, typed.Text, written.Given)
		require.Equal(t, users, written.Users)
		at := strings.Index(typed.Text, "nope")
		require.Equal(t, strings.Index(users, "nope"), written.Edits.Back(at))
	}
}
