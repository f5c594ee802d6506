package pgcatalog_test

import (
	"fmt"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/queries"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// hundred is a catalog of 100 tables of 16 columns.
func hundred() []pgcatalog.Relation {
	relations := make([]pgcatalog.Relation, 100)
	for i := range relations {
		relations[i] = pgcatalog.Relation{Schema: "public", Name: fmt.Sprintf("table_%d", i), Kind: 'r', OID: uint32(20000 + i)}
		for j := range 16 {
			relations[i].Columns = append(relations[i].Columns, pgcatalog.Column{Name: fmt.Sprintf("column_%d", j), Type: 23, Typmod: -1})
		}
	}
	return relations
}

func BenchmarkRefresh(b *testing.B) {
	c := open(b)
	relations := hundred()
	for b.Loop() {
		require.NoError(b, pgcatalog.Refresh(c.Exec, relations, nil, schemas(), "csmsql"))
	}
}

func BenchmarkQuery(b *testing.B) {
	c := open(b)
	require.NoError(b, pgcatalog.Refresh(c.Exec, hundred(), nil, schemas(), "csmsql"))
	for name, sql := range map[string]string{
		"tables":  "SELECT n.nspname, c.relname, pg_catalog.pg_get_userbyid(c.relowner) FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','p','') AND n.nspname !~ '^pg_toast' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2",
		"columns": "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull FROM pg_catalog.pg_attribute a WHERE a.attrelid = '20007' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
		"schema":  "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'table_7' ORDER BY ordinal_position",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := ask(c, sql)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkIsCatalogQuery is what every other statement pays.
func BenchmarkIsCatalogQuery(b *testing.B) {
	for _, sql := range []string{"SELECT 1", queries.TPCH()[0].SQL} {
		tree, err := pg.Parse(sql)
		require.NoError(b, err)
		b.Run(sql[:8], func(b *testing.B) {
			for b.Loop() {
				pgcatalog.IsCatalogQuery(tree)
			}
		})
	}
}

func BenchmarkInstall(b *testing.B) {
	for b.Loop() {
		open(b)
	}
}
