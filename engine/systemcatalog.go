package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// planCatalog plans a query over PostgreSQL's system catalogs, if it is one: over what exists in v, translated.
func (q *query) planCatalog(ctx context.Context, tree *pg.ParseResult, v *visible) (bool, error) {
	if !pgcatalog.IsCatalogQuery(tree) {
		return false, nil
	}
	s := q.session
	s.yield()
	if err := s.describeTables(v); err != nil {
		return true, err
	}
	if strings.Contains(strings.ToLower(q.text), "pg_prepared_statements") {
		if err := s.describePrepared(); err != nil {
			return true, err
		}
	}
	text, err := pgcatalog.Rewrite(q.text, tree)
	if err != nil {
		return true, err
	}
	q.catalog = true
	if err := q.followNames(tree, nil, v); err != nil {
		return true, err
	}
	return true, q.prepare(text, nil, v)
}

// describeTables tells the session's copy of the catalogs what exists, unless it knows.
func (s *Session) describeTables(v *visible) error {
	v.reads.everything()
	if s.described == v.contents {
		return nil
	}
	if err := s.engine.mirror.MakeCatalogs(); err != nil {
		return err
	}
	var schemas []pgcatalog.Schema
	for _, name := range v.contents.Schemas() {
		schemas = append(schemas, pgcatalog.Schema{Name: name})
	}
	var relations []pgcatalog.Relation
	for _, t := range v.contents.Tables() {
		r := tableRelation(t)
		r.Constraints = shownConstraints(v.contents, t.Table())
		relations = append(relations, r)
	}
	for _, w := range v.contents.Views() {
		relations = append(relations, viewRelation(w))
	}
	if err := pgcatalog.Refresh(s.conn.Exec, relations, schemas, "csmsql"); err != nil {
		return err
	}
	s.described = v.contents
	return nil
}

// describeForViews tells the session's copy of the catalogs what exists if there are views that read it, and the statement may name one:
// scans are those of its relations that are spliced in.
func (s *Session) describeForViews(tree *pg.ParseResult, scans []plan.Scan, v *visible) error {
	if !s.catalogViews && !s.engine.mirror.ReadCatalogs(v.contents) || tree != nil && !hasOthers(tree, scans) {
		return nil
	}
	s.yield()
	return s.describeTables(v)
}

// hasOthers tells whether a statement reads relations besides its scans.
func hasOthers(tree *pg.ParseResult, scans []plan.Scan) bool {
	spliced := make(map[int]bool, len(scans))
	for _, scan := range scans {
		spliced[scan.Start] = true
	}
	found := false
	dialect.EachNode(tree.ProtoReflect(), func(node any) {
		switch node := node.(type) {
		case *pg.RangeVar:
			found = found || !spliced[int(node.Location)]
		case *pg.RangeFunction:
			found = found || !names.Unaffected(node)
		}
	})
	return found
}

// describePrepared tells the session's copy of the catalogs what is prepared now.
func (s *Session) describePrepared() error {
	list := s.options.Statements.List()
	for _, n := range s.named {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *NamedStatement) int { return strings.Compare(a.Name, b.Name) })
	rows := make([]pgcatalog.Prepared, len(list))
	for i, n := range list {
		rows[i] = pgcatalog.Prepared{Name: n.Name, Statement: n.Source, Since: n.Since, Types: n.OIDs, FromSQL: n.FromSQL}
	}
	return pgcatalog.SetPrepared(s.conn.Exec, rows)
}

func tableRelation(t *catalog.TableVersion) pgcatalog.Relation {
	table := t.Table()
	return pgcatalog.Relation{
		Schema: table.Name.Schema, Name: table.Name.Name, Kind: 'r', OID: objectID(table.ID),
		Columns: relationColumns(table.Columns), Rows: t.Rows(), Bytes: t.Bytes(),
	}
}

// shownConstraints are a table's constraints as PostgreSQL's catalogs show them. What cannot be read is not shown; who writes hears of it.
func shownConstraints(contents *catalog.Contents, table catalog.Table) (shown []pgcatalog.Constraint) {
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return nil
	}
	action := map[string]byte{"": 'a', "RESTRICT": 'r', "CASCADE": 'c', "SET NULL": 'n', "SET DEFAULT": 'd'}
	for _, k := range list {
		c := pgcatalog.Constraint{
			Name: k.Name, Kind: k.Kind[0], Columns: columnNumbers(table.Columns, k.Columns), Deferrable: k.Deferrable, Deferred: k.Deferred, Validated: k.Enforced(),
			NoInherit: k.NoInherit, NullsNotDistinct: k.NullsNotDistinct, Expression: k.Expression,
		}
		referenced := ""
		if k.Kind == constraint.ForeignKey {
			to := table
			if k.References != 0 {
				at := slices.IndexFunc(contents.Tables(), func(t *catalog.TableVersion) bool { return uint64(t.Table().ID) == k.References })
				if at < 0 {
					continue
				}
				to = contents.Tables()[at].Table()
			}
			referenced = dialect.PlainIdentifier(to.Name.Name)
			if to.Name.Schema != duckdb.SchemaName {
				referenced = dialect.PlainIdentifier(to.Name.Schema) + "." + referenced
			}
			c.References, c.ReferenceColumns = objectID(to.ID), columnNumbers(to.Columns, k.ReferencedColumns)
			c.OnUpdate, c.OnDelete, c.Match = action[k.OnUpdate], action[k.OnDelete], 's'
			if k.Match != "" {
				c.Match = strings.ToLower(k.Match)[0]
			}
		}
		c.Definition = k.Definition(referenced, dialect.PlainIdentifier)
		shown = append(shown, c)
	}
	return shown
}

func columnNumbers(schema *arrow.Schema, names []string) (list []int) {
	for _, n := range names {
		if at := ingest.Index(schema, n); at >= 0 {
			list = append(list, at+1)
		}
	}
	return list
}

func viewRelation(w *catalog.View) pgcatalog.Relation {
	return pgcatalog.Relation{
		Schema: w.Name.Schema, Name: w.Name.Name, Kind: 'v', OID: objectID(w.ID), Columns: relationColumns(w.Columns), Definition: " " + w.SQL + ";",
	}
}

// relations finds what names in a query mean that sees v.
func (s *Session) relations(v *visible) pgcatalog.Find {
	return func(database, schema, name string) *pgcatalog.Relation {
		if t := s.lookup(v, database, schema, name); t != nil {
			r := tableRelation(t)
			return &r
		}
		if w := s.lookupView(v, database, schema, name); w != nil {
			r := viewRelation(w)
			return &r
		}
		return nil
	}
}

// objectID: PostgreSQL's object IDs have 32 bits, the catalog's identities 64; the first billion of them are unique.
func objectID(id catalog.TableID) uint32 {
	return uint32(pgcatalog.FirstOID + uint64(id)%(pgcatalog.LastOID-pgcatalog.FirstOID))
}

func relationColumns(schema *arrow.Schema) []pgcatalog.Column {
	if schema == nil {
		return nil
	}
	columns := make([]pgcatalog.Column, schema.NumFields())
	for i, f := range schema.Fields() {
		oid, modifier := postgresType(f)
		text, _ := f.Metadata.GetValue(cast.DefaultKey)
		columns[i] = pgcatalog.Column{Name: f.Name, Type: oid, Typmod: modifier, NotNull: !f.Nullable, Default: text}
	}
	return columns
}

// Object IDs of PostgreSQL's types (pg_type.dat).
const (
	oidBool, oidBytea, oidInt8, oidInt2, oidInt4, oidText, oidJSON       = 16, 17, 20, 21, 23, 25, 114
	oidFloat4, oidFloat8, oidDate, oidTime, oidTimestamp, oidTimestampTZ = 700, 701, 1082, 1083, 1114, 1184
	oidInterval, oidNumeric, oidUUID                                     = 1186, 1700, 2950
)

var postgresTypeOf = map[arrow.Type]uint32{
	arrow.BOOL: oidBool, arrow.INT8: oidInt2, arrow.INT16: oidInt2, arrow.INT32: oidInt4, arrow.INT64: oidInt8,
	arrow.UINT8: oidInt2, arrow.UINT16: oidInt4, arrow.UINT32: oidInt8, arrow.UINT64: oidNumeric,
	arrow.FLOAT16: oidFloat4, arrow.FLOAT32: oidFloat4, arrow.FLOAT64: oidFloat8,
	arrow.BINARY: oidBytea, arrow.LARGE_BINARY: oidBytea, arrow.BINARY_VIEW: oidBytea,
	arrow.DATE32: oidDate, arrow.TIME32: oidTime, arrow.TIME64: oidTime, arrow.INTERVAL_MONTH_DAY_NANO: oidInterval,
}

// postgresArrays are the array types of element types.
var postgresArrays = map[uint32]uint32{
	oidBool: 1000, oidBytea: 1001, oidInt2: 1005, oidInt4: 1007, oidText: 1009, oidInt8: 1016, oidFloat4: 1021, oidFloat8: 1022,
	oidTimestamp: 1115, oidDate: 1182, oidTime: 1183, oidTimestampTZ: 1185, oidInterval: 1187, oidNumeric: 1231, oidUUID: 2951, oidJSON: 199,
}

// postgresType is the type that clients are told, with its modifier.
func postgresType(f arrow.Field) (oid uint32, modifier int32) {
	if d, ok := columntype.Of(f); ok {
		return d.OID(), d.Modifier()
	}
	switch name, _ := f.Metadata.GetValue("ARROW:extension:name"); name {
	case "arrow.uuid":
		return oidUUID, -1
	case "arrow.json":
		return oidJSON, -1
	}
	switch t := f.Type.(type) {
	case arrow.DecimalType:
		return oidNumeric, t.GetPrecision()<<16 | t.GetScale() + 4
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return oidTimestampTZ, -1
		}
		switch t.Unit {
		case arrow.Second:
			return oidTimestamp, 0
		case arrow.Millisecond:
			return oidTimestamp, 3
		}
		return oidTimestamp, -1
	case arrow.ListLikeType:
		if _, isMap := t.(*arrow.MapType); isMap {
			return oidText, -1
		}
		element, modifier := postgresType(t.ElemField())
		if array, ok := postgresArrays[element]; ok {
			return array, modifier
		}
		return oidText, -1
	}
	if oid, ok := postgresTypeOf[f.Type.ID()]; ok {
		return oid, -1
	}
	return oidText, -1
}

// identify tells DuckDB's session functions whose session it is and how it is set.
func (s *Session) identify() error {
	return pgcatalog.SetSession(s.conn.Exec, pgcatalog.Session{
		User: s.options.User, ProcessID: s.options.ProcessID, SearchPath: s.settings.searchPath, Settings: s.ownSettings(),
	})
}
