package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// defaultKey marks a field with the SQL text of its default.
const defaultKey = "csm.default"

// defaultOf is a field's default as DuckDB is given it.
func defaultOf(f arrow.Field) (string, bool) {
	text, ok := f.Metadata.GetValue(defaultKey)
	return dialect.Expression(ofColumn(text, f)), ok
}

// ofColumn writes the strings of an expression that are to be values of a column as DuckDB reads the column's values.
func ofColumn(expression string, f arrow.Field) string {
	by, _ := dialect.SpelledFor(expression, f) // of what is none of the type DuckDB says so
	return by
}

// target finds the table that a statement writes to. Temporary tables are DuckDB's own: ErrTemporary says so.
func (s *Session) target(v *visible, name statement.Name) (*catalog.TableVersion, error) {
	if name.Schema == "temp" || name.Schema == "pg_temp" || name.Schema == "" && v.own.has(name.Name) {
		return nil, errTemporary
	}
	if version := s.lookup(v, name.Database, name.Schema, name.Name); version != nil {
		return version, nil
	}
	schema := name.Schema
	if schema == "" && len(s.settings.searchPath) > 0 {
		schema = s.settings.searchPath[0]
	}
	if v.hasView(schema, name.Name) {
		return nil, sqlerror.New("42809", "cannot change view %q", name.Name)
	}
	return nil, sqlerror.New("42P01", "relation %q does not exist", name.String())
}

var errTemporary = sqlerror.New("0A000", "the table is temporary")

// ownDatabase refuses what is to be in another database; "" is this one.
func ownDatabase(database, name string) error {
	if database != "" && !strings.EqualFold(database, duckdb.CatalogName) {
		return sqlerror.New("0A000", "cross-database references are not implemented: %q", name)
	}
	return nil
}

// qualify gives a new object its schema.
func (s *Session) qualify(v *visible, name statement.Name) (catalog.TableName, error) {
	if err := ownDatabase(name.Database, name.String()); err != nil {
		return catalog.TableName{}, err
	}
	schema := name.Schema
	if schema == "" {
		if len(s.settings.searchPath) == 0 {
			return catalog.TableName{}, sqlerror.New("3F000", "no schema has been selected to create in")
		}
		schema = s.settings.searchPath[0]
		if i := slices.IndexFunc(s.settings.searchPath, v.contents.HasSchema); i >= 0 { // the first that is there, as PostgreSQL has it
			schema = s.settings.searchPath[i]
		}
	}
	if !v.contents.HasSchema(schema) {
		return catalog.TableName{}, sqlerror.New("3F000", "schema %q does not exist", schema)
	}
	return catalog.TableName{Schema: schema, Name: name.Name}, nil
}

// source is the query that a writing statement takes its rows from, wrapped so that they have a table's types.
type source struct {
	text   string    // the wrapped text
	inner  string    // the user's query
	prefix int       // where it stands in text
	edits  edit.List // what was replaced in it
}

// conformSource wraps a query so that it gives the columns of schema. columns are the ones that the query gives, in its
// order; the others get their defaults.
func conformSource(query string, schema *arrow.Schema, columns []string) (source, error) {
	given := make(map[string]int, len(columns))
	aliases := make([]string, len(columns))
	for i, c := range columns {
		given[strings.ToLower(c)] = i
		aliases[i] = fmt.Sprintf("c%d", i)
	}
	var list []string
	for _, f := range schema.Fields() {
		name, err := columntype.SQL(f)
		if err != nil {
			return source{}, err
		}
		value := "CAST(NULL AS " + name + ")"
		if i, ok := given[strings.ToLower(f.Name)]; ok {
			value = "CAST(csm_rows." + aliases[i] + " AS " + name + ")"
		} else if text, ok := defaultOf(f); ok {
			value = "CAST(" + text + " AS " + name + ")"
		}
		list = append(list, value+" AS "+duckdb.QuoteIdentifier(f.Name))
	}
	head := "SELECT " + strings.Join(list, ", ") + " FROM ("
	return source{text: head + query + "\n) AS csm_rows(" + strings.Join(aliases, ", ") + ")", inner: query, prefix: len(head)}, nil
}

// relocate moves an error's position from the wrapped text to the user's statement.
func (src source) relocate(err error, users string) error {
	e, ok := err.(*Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	moved.At = 0
	at := byteOffset(src.text, e.At)
	if start := strings.Index(users, src.inner); start >= 0 && at >= src.prefix {
		offset := start + min(src.edits.Back(at-src.prefix), len(src.inner))
		moved.At = utf8.RuneCountInString(users[:offset]) + 1
	}
	return &moved
}

// byteOffset is where the character at stands in text, from 1.
func byteOffset(text string, at int) int {
	for i := range text {
		if at--; at == 0 {
			return i
		}
	}
	return len(text)
}

// insertColumns are the names of the columns that an INSERT's query fills, in the query's order; given are its own.
func insertColumns(head *statement.Insert, schema *arrow.Schema, given []string) ([]string, error) {
	columns := head.Columns
	switch {
	case head.ByName:
		columns = given
	case columns == nil:
		if len(given) > schema.NumFields() {
			return nil, sqlerror.New("42601", "INSERT has more expressions than target columns")
		}
		for i := range given {
			columns = append(columns, schema.Field(i).Name)
		}
	}
	if len(given) > len(columns) {
		return nil, sqlerror.New("42601", "INSERT has more expressions than target columns")
	}
	if len(given) < len(columns) {
		return nil, sqlerror.New("42601", "INSERT has more target columns than expressions")
	}
	seen := map[string]bool{}
	for _, c := range columns {
		if ingest.Index(schema, c) < 0 {
			return nil, sqlerror.New("42703", "column %q of relation %q does not exist", c, head.Name.Name)
		}
		if seen[strings.ToLower(c)] {
			return nil, sqlerror.New("42701", "column %q specified more than once", c)
		}
		seen[strings.ToLower(c)] = true
	}
	return columns, nil
}

func (st *Statement) prepareInsert(ctx context.Context, head *statement.Insert) error {
	s := st.session
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.release()
	version, err := s.target(v, head.Name)
	if err == errTemporary {
		return st.preparePrivate(ctx, &statement.Private{Verb: "insert"})
	}
	if err != nil {
		return st.pointAt(err, head.Name.Name)
	}
	src, err := st.planInsert(ctx, head, version, v)
	if err != nil {
		return err
	}
	planned := &insertion{src, version.Table().Columns}
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.insert(ctx, head, planned, args) }
	return nil
}

// insertion is an INSERT that was planned for a table of these columns.
type insertion struct {
	source
	columns *arrow.Schema
}

// planInsert plans the query of an INSERT, and what it returns, for the columns that the table has.
func (st *Statement) planInsert(ctx context.Context, head *statement.Insert, version *catalog.TableVersion,
	v *visible) (source, error) {
	src, err := st.insertSource(ctx, head, version.Table().Columns, v)
	if err != nil {
		return source{}, err
	}
	if r := returningOf(head); r != nil {
		if err := st.describeReturning(ctx, r, version, v); err != nil {
			return source{}, err
		}
	}
	plan, err := st.planSource(ctx, src.text, v)
	if err != nil {
		return source{}, st.preferSyntaxError(src.relocate(err, st.parsed.Text))
	}
	if st.plan != nil {
		st.plan.close()
	}
	st.setPlan(plan)
	return src, nil
}

// planSource plans the query that a writing statement takes its rows from. Rows that are returned must be DuckDB's.
func (st *Statement) planSource(ctx context.Context, text string, v *visible) (*query, error) {
	if st.returning != nil {
		return st.session.planDuck(ctx, text, st.treeOf(text), v)
	}
	return st.session.planQuery(ctx, text, st.treeOf(text), v)
}

// insertSource finds out what the query gives and wraps it.
func (st *Statement) insertSource(ctx context.Context, head *statement.Insert, schema *arrow.Schema, v *visible) (source, error) {
	if head.Query == "" { // DEFAULT VALUES
		return conformSource("SELECT 1 AS csm_one", schema, []string{""})
	}
	if !head.ByName {
		if list := readValues(head); list != nil {
			return list.source(schema)
		}
	}
	rows, shown := dialect.ReadRows(dialect.TreeOf(head.Query))
	given := make([]string, rows.Width)
	if !shown || head.ByName {
		var err error
		if given, err = st.givenColumns(ctx, head.Query, v); err != nil {
			return source{}, err
		}
	}
	columns, err := insertColumns(head, schema, given)
	if err != nil {
		return source{}, err
	}
	query, moved, err := typedRows(head, schema, columns, rows)
	if err != nil {
		return source{}, err
	}
	src, err := conformSource(query, schema, columns)
	src.inner, src.edits = head.Query, moved
	return src, err
}

// givenColumns plans a query to see what it returns.
func (st *Statement) givenColumns(ctx context.Context, query string, v *visible) ([]string, error) {
	plan, err := st.session.planQuery(ctx, query, dialect.TreeOf(query), v)
	if err != nil {
		src := source{text: query, inner: query}
		return nil, st.preferSyntaxError(src.relocate(err, st.parsed.Text))
	}
	defer plan.close()
	names := make([]string, plan.schema.NumFields())
	for i, f := range plan.schema.Fields() {
		names[i] = f.Name
	}
	return names, nil
}

// typedRows gives parameters and literals that are values by themselves the types of their columns.
func typedRows(head *statement.Insert, schema *arrow.Schema, columns []string, rows dialect.RowSource) (string, edit.List, error) {
	if len(rows.Parameters) == 0 && len(rows.Texts) == 0 {
		return head.Query, nil, nil
	}
	var failed error
	query, moved := dialect.ReplaceTokens(head.Query, func(token string, offset int) (string, bool) {
		if column, ok := rows.Parameters[offset]; ok && column < len(columns) && dialect.IsParameter(token) {
			name, err := columntype.SQL(schema.Field(ingest.Index(schema, columns[column])))
			failed = cmp.Or(failed, err)
			return "CAST(" + token + " AS " + name + ")", true
		}
		if text, ok := rows.Texts[offset]; ok && text.Column < len(columns) {
			by, err := literal.Of(schema.Field(ingest.Index(schema, columns[text.Column]))).Translate(text.Value)
			failed = cmp.Or(failed, err)
			return duckdb.QuoteLiteral(by), by != text.Value
		}
		return "", false
	})
	return query, moved, failed
}

// pointAt gives an error the position where name stands in the statement.
func (st *Statement) pointAt(err error, name string) error {
	e, ok := err.(*Error)
	if !ok || e.At != 0 {
		return err
	}
	if i := strings.Index(strings.ToLower(st.parsed.Text), strings.ToLower(name)); i >= 0 {
		moved := *e
		moved.At = len([]rune(st.parsed.Text[:i])) + 1
		return &moved
	}
	return err
}

func (st *Statement) insert(ctx context.Context, head *statement.Insert, planned *insertion, args []any) (*Rows, error) {
	s := st.session
	var count int64
	out := s.keeper()
	err := s.write(ctx, func(tx *catalog.Transaction, v *visible) error {
		version, err := s.target(v, head.Name)
		if err != nil {
			return err
		}
		if err := st.replanInsert(ctx, head, planned, version, v); err != nil {
			return err
		}
		rows, err := st.plan.execute(ctx, v, args)
		if err != nil {
			return planned.relocate(err, st.parsed.Text)
		}
		defer rows.Close()
		if st.returning != nil {
			count, out, err = st.insertReturning(ctx, tx, v, version, rows)
			return err
		}
		count, err = s.engine.store(ctx, tx, version.Table().Name, s.zone(), rows.nextOwned, nil)
		return err
	})
	if err != nil {
		out.release()
		return nil, err
	}
	tag := fmt.Sprintf("INSERT 0 %d", count)
	if st.returning != nil {
		return out.result(st.schema, tag, count), nil
	}
	return done(tag, count), nil
}

func (st *Statement) insertReturning(ctx context.Context, tx *catalog.Transaction, v *visible, version *catalog.TableVersion, rows *Rows) (int64, *keeper, error) {
	written := st.session.keeper()
	defer written.release()
	table := version.Table()
	count, err := st.session.engine.store(ctx, tx, table.Name, st.session.zone(), written.keeping(fitting(rows.Next, upkeep.LimitsOf(table.Columns))), nil)
	if err != nil {
		return 0, st.session.keeper(), err
	}
	rows.Close() // the connection is needed
	out, err := st.returned(ctx, v, written, table.Columns)
	if err != nil {
		return 0, st.session.keeper(), err
	}
	return count, out, nil
}

// replanInsert makes the plan anew if it does not stand for v, or for the columns that the table has by now: what the
// query gives was cast to those that it had.
func (st *Statement) replanInsert(ctx context.Context, head *statement.Insert, planned *insertion,
	version *catalog.TableVersion, v *visible) error {
	columns, returned := version.Table().Columns, st.schema
	if planned.columns.Equal(columns) {
		return st.replanFor(ctx, v)
	}
	src, err := st.planInsert(ctx, head, version, v)
	if err != nil {
		return err
	}
	*planned = insertion{src, columns}
	if returned != nil && !sameTypes(returned, st.schema) {
		st.schema, planned.columns = returned, arrow.NewSchema(nil, nil) // planned again the next time
		return errOtherResult()
	}
	return nil
}

// replanFor makes the plan anew if it does not stand for v.
func (st *Statement) replanFor(ctx context.Context, v *visible) error {
	if st.plan.fresh(v) {
		return nil
	}
	plan, err := st.planSource(ctx, st.plan.text, v)
	if err != nil {
		return err
	}
	st.plan.close()
	st.plan = plan
	return nil
}

// store writes all rows that next gives as chunks of one table and hands them to the transaction. On error no memory of
// the region is held for them. origin (or nil) says, when all rows were read, where they came from.
func (e *Engine) store(ctx context.Context, tx *catalog.Transaction, name catalog.TableName, zone string,
	next func(context.Context) (arrow.RecordBatch, error), origin func(rows int64) *lineage.Origin) (int64, error) {
	return e.storeSummed(ctx, tx, name, zone, next, nil, origin)
}

// storeSummed is store of rows that are added up, too.
func (e *Engine) storeSummed(ctx context.Context, tx *catalog.Transaction, name catalog.TableName, zone string,
	next func(context.Context) (arrow.RecordBatch, error), sum *ingest.Sum, origin func(rows int64) *lineage.Origin) (int64, error) {
	version, ok := tx.Contents().Table(name)
	if !ok {
		return 0, sqlerror.New("42P01", "relation %q does not exist", name.String())
	}
	target, err := e.upkeep.TargetFor(ctx, version, zone)
	if err != nil {
		return 0, err
	}
	target.Sum = sum
	w := ingest.NewWriter(target)
	defer w.Abort()
	for {
		batch, err := next(ctx)
		if isEnd(err) {
			break
		}
		if err != nil {
			return 0, err
		}
		err = w.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return 0, err
		}
		e.config.Fault.At(faults.StoreBatch)
	}
	chunks, parts, err := w.FinishParts(ctx)
	if err != nil {
		return 0, err
	}
	e.config.Fault.At(faults.StoreSealed)
	if len(chunks) == 0 {
		return 0, nil
	}
	if origin == nil {
		return w.Rows(), tx.Append(name, chunks)
	}
	return w.Rows(), tx.AppendFrom(name, chunks, upkeep.LaidOut(origin(w.Rows()), target, parts).Encode())
}

// fitting gives what next gives, within limits.
func fitting(next func(context.Context) (arrow.RecordBatch, error), limits []ingest.Limit) func(context.Context) (arrow.RecordBatch, error) {
	return func(ctx context.Context) (arrow.RecordBatch, error) {
		batch, err := next(ctx)
		if err != nil {
			return nil, err
		}
		defer batch.Release()
		return ingest.Fit(ctx, batch, limits)
	}
}
