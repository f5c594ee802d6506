package planned

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/scan"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// scanCall is what stands for a table in what DuckDB was given.
var scanCall = regexp.MustCompile(`csm_scan\((\d+)\)(?: AS ("(?:[^"]|"")*"|\w+))?`)

// UserNames puts the tables' names back into columns that DuckDB named after an expression with a sub-query in it.
// The numbers of scans are internal, and would make the same statement, replanned, look like another.
func UserNames(schema *arrow.Schema, scans []*scan.Scan) *arrow.Schema {
	fields := schema.Fields()
	for i, f := range fields {
		if strings.Contains(f.Name, "csm_scan(") {
			fields[i].Name = scanCall.ReplaceAllStringFunc(f.Name, func(call string) string { return tableOf(call, scans) })
		}
	}
	return arrow.NewSchema(fields, nil)
}

func tableOf(call string, scans []*scan.Scan) string {
	parts := scanCall.FindStringSubmatch(call)
	for _, t := range scans {
		if strconv.FormatUint(t.Number, 10) != parts[1] {
			continue
		}
		name := t.Facts.Relation.Name
		if alias := parts[2]; alias != "" && alias != name && alias != duckdb.QuoteIdentifier(name) {
			return name + " AS " + alias
		}
		return name
	}
	return call
}

// ClientNames gives a result's columns the names that PostgreSQL's clients expect (count, ?column?, version), and
// those of a query of its catalogs the types that they have there (oid, name).
func ClientNames(schema *arrow.Schema, tree *pg.ParseResult, catalogs bool) *arrow.Schema {
	names := besideStars(pgcatalog.ColumnNames(tree), schema.NumFields())
	var types []uint32
	if catalogs {
		types = pgcatalog.ColumnTypes(tree)
	}
	fields := schema.Fields()
	for i := range fields {
		if names != nil && names[i] != "" {
			fields[i].Name = names[i]
		}
		if oid := shownType(fields[i], i, names != nil, types); catalogs && oid != 0 {
			fields[i].Metadata = arrow.NewMetadata([]string{oidKey}, []string{strconv.FormatUint(uint64(oid), 10)})
		}
	}
	return arrow.NewSchema(fields, nil)
}

// besideStars gives each of so many columns its name; "" stands for those of a star, which may be any number. It is nil
// if the columns are not those that the names are of: PostgreSQL knows nothing of the statement.
func besideStars(names []string, columns int) []string {
	if len(names) == columns {
		return names
	}
	first := slices.Index(names, "")
	if first < 0 {
		return nil
	}
	last := first
	for i, name := range names {
		if name == "" {
			last = i
		}
	}
	behind := len(names) - 1 - last
	if first+behind > columns {
		return nil
	}
	wide := make([]string, columns)
	copy(wide, names[:first])
	copy(wide[columns-behind:], names[last+1:])
	return wide
}

// shownType is the type of a catalog query's column that is announced to clients, 0 if its Arrow type says it. In such
// a query only object IDs are unsigned integers of 32 bits. A list of object IDs is oid[], which clients know: those
// that look up unknown types would do so by a query that has such a list again, without end.
func shownType(f arrow.Field, at int, aligned bool, types []uint32) uint32 {
	if aligned && at < len(types) && types[at] != 0 {
		return types[at]
	}
	const oid, oidArray = 26, 1028 // pg_type.dat
	if f.Type.ID() == arrow.UINT32 {
		return oid
	}
	if list, ok := f.Type.(arrow.ListLikeType); ok && list.Elem().ID() == arrow.UINT32 {
		return oidArray
	}
	return 0
}

// oidKey marks a result column with the PostgreSQL type that is announced to clients, where its Arrow type does not say
// it.
const oidKey = "pg.oid"
