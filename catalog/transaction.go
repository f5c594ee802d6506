package catalog

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/receipt"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/persistent"
)

// Transaction collects changes on top of a snapshot and commits all of them or none. Its reads see its own changes.
// It is for one goroutine and ends with Commit or Rollback, before the snapshot is closed.
//
// Chunks that are handed to it are its own from then on, whether the call succeeds or not: they end published by
// Commit, or discarded.
type Transaction struct {
	catalog  *Catalog
	base     *Contents
	own      *Contents
	relation map[TableName]bool // names whose entry may differ between base and own
	schema   map[string]bool    // likewise
	// commented are those of schema of which something was said, and nothing else was done to them.
	commented map[string]bool
	reads     map[TableName]TableID // what views that it makes read of its snapshot (K10)
	depends   dependencies
	required  []requirement   // rows that it rests on (K13)
	keptRead  []store.Compare // that versions are kept which it has restored tables to
	taken     map[ExtentID]bool
	handed    []ExtentID // taken, in the order in which they were
	// kept are tables as they were made by changes that held each row to what it was held to before (KeepKeys).
	kept     map[TableName]*TableVersion
	notes    []string               // of the rows that it seals
	expected []func(*Contents) bool // what holds when it is committed
	// receipts are what its commit leaves; met: the commit lost a race against another one of the same table's rows.
	receipts []*receipt.Receipt
	met      bool
	over     bool
}

// Begin starts a transaction on a snapshot of this catalog.
func (c *Catalog) Begin(s *Snapshot) *Transaction {
	return &Transaction{
		catalog: c, base: s.Contents, own: s.Contents,
		relation: map[TableName]bool{}, schema: map[string]bool{}, commented: map[string]bool{},
		reads: map[TableName]TableID{}, taken: map[ExtentID]bool{}, kept: map[TableName]*TableVersion{},
	}
}

// Expect says that something holds that follows from the schemas and the tables that the transaction changes: Commit is
// ErrConflict if it does not then.
func (t *Transaction) Expect(holds func(*Contents) bool) { t.expected = append(t.expected, holds) }

// Leave has the commit leave a receipt, whose Revision it sets. If it is not as it was, the commit fails.
func (t *Transaction) Leave(r *receipt.Receipt) { t.receipts = append(t.receipts, r) }

// Met reports, after Commit, whether another node changed the table's rows meanwhile, so that it was tried again.
func (t *Transaction) Met() bool { return t.met }

// Contents is what the transaction sees: the snapshot with its own changes. It stays as it is when more changes follow.
func (t *Transaction) Contents() *Contents { return t.own }

// Since lists the tables that the transaction has changed since it saw contents, by their names now, as they were then,
// nil if they were not there, and as they are.
func (t *Transaction) Since(contents *Contents) iter.Seq2[*TableVersion, *TableVersion] {
	return func(yield func(before, after *TableVersion) bool) {
		for before, after := range t.own.TablesSince(contents) {
			if after != nil && t.relation[after.Table().Name] && !yield(before, after) {
				return
			}
		}
	}
}

// KeepKeys says that each row which the transaction has added to tables since it saw contents took the place of one
// with the same keys. So nothing that holds for the rows of several transactions (Options.Agree, Relate) has become
// wrong.
func (t *Transaction) KeepKeys(since *Contents) {
	for before, after := range t.Since(since) {
		name := after.Table().Name
		if base := t.base.tables.Of(name).version; before != nil && (before == base || before == t.kept[name]) {
			t.kept[name] = after
		}
	}
}

// keepsKeys reports whether KeepKeys covers all that was done to a table.
func (t *Transaction) keepsKeys(name TableName) bool {
	kept := t.kept[name]
	return kept != nil && kept == t.own.tables.Of(name).version
}

// Changed reports whether the transaction sees anything else than its snapshot.
func (t *Transaction) Changed() bool { return t.own != t.base }

// Redefined lists the names that mean another table or view in the transaction than in its snapshot, or one and not the
// other: what was made, dropped, renamed or replaced. A table that only got other rows is the same table.
func (t *Transaction) Redefined() []TableName {
	var names []TableName
	for name := range t.relation {
		if identity(t.base, name) != identity(t.own, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, TableName.Compare)
	return names
}

// identity is what a name means, zero if nothing: tables, views and types draw their identities from one sequence.
func identity(c *Contents, name TableName) TableID {
	if e, ok := c.tables.Get(name); ok {
		return e.version.Table().ID
	}
	if e, ok := c.views.Get(name); ok {
		return e.view.ID
	}
	if e, ok := c.types.Get(name); ok {
		return e.is.ID
	}
	return 0
}

// change prepares a write. Contents that were handed out stay as they are.
func (t *Transaction) change() (*Contents, error) {
	if t.over {
		return nil, ErrTransactionOver
	}
	return t.own.clone(), nil
}

func (t *Transaction) setTable(own *Contents, name TableName, v *TableVersion) {
	own.setTable(name, tableEntry{version: v, revision: own.tables.Of(name).revision})
	t.relation[name] = true
	t.own = own
}

// CreateSchema makes a schema.
func (t *Transaction) CreateSchema(name string) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	if own.HasSchema(name) {
		return fmt.Errorf("%w: %q", ErrDuplicateSchema, name)
	}
	own.setSchema(name, schemaEntry{})
	t.schema[name], t.own = true, own
	return nil
}

// CommentSchema says something of a schema, or with an empty text nothing.
func (t *Transaction) CommentSchema(name, text string) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	before, ok := own.schemas.Get(name)
	if !ok {
		return fmt.Errorf("%w: %q", ErrUndefinedSchema, name)
	}
	own.setSchema(name, schemaEntry{before.revision, text})
	t.commented[name] = t.commented[name] || !t.schema[name]
	t.schema[name], t.own = true, own
	return nil
}

// DropSchema drops a schema, with cascade also what is in it.
func (t *Transaction) DropSchema(name string, cascade bool) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	if !own.HasSchema(name) {
		return fmt.Errorf("%w: %q", ErrUndefinedSchema, name)
	}
	inside := own.relationsIn(name)
	if len(inside) > 0 && !cascade {
		return fmt.Errorf("%w: %q has %d tables and views, among them %q; use CASCADE to drop them too", ErrSchemaNotEmpty, name, len(inside), inside[0].Name)
	}
	for _, relation := range inside {
		own.drop(relation)
		t.relation[relation] = true
	}
	own.dropSchema(name)
	delete(t.commented, name)
	t.schema[name], t.own = true, own
	return nil
}

func (c *Contents) relationsIn(schema string) (names []TableName) {
	for name := range inSchema(c.tables, schema) {
		names = append(names, name)
	}
	for name := range inSchema(c.views, schema) {
		names = append(names, name)
	}
	for name := range inSchema(c.types, schema) {
		names = append(names, name)
	}
	slices.SortFunc(names, TableName.Compare)
	return names
}

func inSchema[E comparable](of persistent.Map[TableName, E], schema string) iter.Seq2[TableName, E] {
	return of.While(TableName{Schema: schema}, func(name TableName) bool { return name.Schema == schema })
}

// TableOptions are what CREATE TABLE can say beside the columns.
type TableOptions struct {
	// Placement says on which nodes the rows are to lie; see Table.
	Placement string
	// Replicas is how many replicas the chunks are to have; see Table.
	Replicas int
	// Retention says which former versions are kept.
	Retention Retention
}

// CreateTable makes a table without rows.
func (t *Transaction) CreateTable(ctx context.Context, name TableName, columns *arrow.Schema,
	options TableOptions) (Table, error) {
	own, err := t.change()
	if err != nil {
		return Table{}, err
	}
	if err := own.free(name); err != nil {
		return Table{}, err
	}
	if err := checkColumns(columns); err != nil {
		return Table{}, err
	}
	id, err := t.catalog.newIdentity(ctx)
	if err != nil {
		return Table{}, err
	}
	table := Table{ID: TableID(id), Name: name, Columns: hugetable.Unnumbered(columns), Placement: options.Placement,
		Replicas: options.Replicas, Retention: options.Retention, CreatedAt: t.catalog.options.Now().UTC()}
	t.setTable(own, name, hugetable.NewVersion(table, t.catalog.source))
	return table, nil
}

// free checks that a table or view of the name can be made.
func (c *Contents) free(name TableName) error {
	if err := checkName(name.Name); err != nil {
		return err
	}
	if !c.HasSchema(name.Schema) {
		return fmt.Errorf("%w: %q", ErrUndefinedSchema, name.Schema)
	}
	if _, ok := c.tables.Get(name); ok {
		return quoted("table", name, ErrDuplicateTable)
	}
	if _, ok := c.views.Get(name); ok {
		return quoted("view", name, ErrDuplicateTable)
	}
	if _, ok := c.types.Get(name); ok {
		return quoted("type", name, ErrDuplicateType)
	}
	return nil
}

func (c *Contents) table(name TableName) (*TableVersion, error) {
	if v, ok := c.Table(name); ok {
		return v, nil
	}
	if _, ok := c.views.Get(name); ok {
		return nil, fmt.Errorf("%w: %q is a view, not a table", ErrWrongKind, name)
	}
	if !c.HasSchema(name.Schema) {
		return nil, fmt.Errorf("%w: %q", ErrUndefinedSchema, name.Schema)
	}
	return nil, quoted("table", name, ErrUndefinedTable)
}

// take makes chunks the transaction's own. The same chunk twice is refused: its rows would be there twice.
func (t *Transaction) take(chunks []*Chunk) error {
	var err error
	for i, c := range chunks {
		if failed := t.takeExtents(i, c.Extents()); err == nil {
			err = failed
		}
	}
	return err
}

func (t *Transaction) takeExtents(chunk int, ids []ExtentID) (err error) {
	for _, id := range ids {
		if t.taken[id] {
			err = fmt.Errorf("%w: chunk %d, %v, was handed over before", hugetable.ErrMismatch, chunk, id)
			continue
		}
		t.handed = append(t.handed, id)
		t.taken[id] = true
	}
	return err
}

// Append puts chunks after the table's last row, in order.
func (t *Transaction) Append(name TableName, chunks []*Chunk) error {
	return t.AppendFrom(name, chunks, "")
}

// AppendFrom is Append of chunks whose rows came from somewhere, in words that are the caller's; empty: from nowhere.
func (t *Transaction) AppendFrom(name TableName, chunks []*Chunk, origin string) error {
	return t.changeTable(name, func() error { return t.take(chunks) }, func(v *TableVersion) (*TableVersion, error) {
		return v.AppendFrom(chunks, origin)
	})
}

// Replace makes the chunks the whole table. Where their rows came from is not known.
func (t *Transaction) Replace(name TableName, chunks []*Chunk) error {
	return t.ReplaceFrom(name, chunks, "")
}

// ReplaceFrom is Replace of chunks whose rows came from somewhere; see AppendFrom.
func (t *Transaction) ReplaceFrom(name TableName, chunks []*Chunk, origin string) error {
	return t.changeTable(name, func() error { return t.take(chunks) }, func(v *TableVersion) (*TableVersion, error) {
		return v.Truncate().AppendFrom(chunks, origin)
	})
}

// Truncate takes all rows away.
func (t *Transaction) Truncate(name TableName) error { return t.Replace(name, nil) }

// ReplaceChunks puts other chunks with the same rows in the place of some, by their number: copies that lie elsewhere,
// or the same with other replicas. The transaction's own are the extents that come by it. All other chunks stay as they
// are for every reader. An older version keeps what it has (K3).
func (t *Transaction) ReplaceChunks(ctx context.Context, name TableName, chunks map[int]Replacement) error {
	take := func() (err error) {
		for _, i := range slices.Sorted(maps.Keys(chunks)) {
			if failed := t.takeExtents(i, chunks[i].Added()); err == nil {
				err = failed
			}
		}
		return err
	}
	return t.changeTable(name, take, func(v *TableVersion) (*TableVersion, error) { return v.ReplaceChunks(ctx, chunks) })
}

// DeleteRows takes rows away, by the numbers of their chunks and their positions in these. One that is deleted already
// is hugetable.ErrDeleted.
func (t *Transaction) DeleteRows(ctx context.Context, name TableName, rows map[int]*positions.Set) error {
	return t.changeTable(name, takeNothing, func(v *TableVersion) (*TableVersion, error) { return v.Delete(ctx, rows) })
}

// Fold puts chunks in the place of a run of others with the same rows in the same order: olds are the table's from
// number first on; see TableVersion.Fold. It is all that the transaction does to the table. Commit is ErrConflict if
// one of them has moved or is gone since, and no other transaction's is because of it.
func (t *Transaction) Fold(ctx context.Context, name TableName, first int, olds, news []*Chunk) error {
	return t.Purge(ctx, name, first, olds, news, nil)
}

// Purge is Fold without rows of each of olds that are deleted.
func (t *Transaction) Purge(ctx context.Context, name TableName, first int, olds, news []*Chunk,
	left []*positions.Set) error {
	return t.changeTable(name, func() error { return t.take(news) }, func(v *TableVersion) (*TableVersion, error) {
		return v.Purge(ctx, first, olds, news, left)
	})
}

// SetPlacement says where rows are to lie from now on; where they do lie is the caller's business. By itself it goes with
// rows that others append meanwhile, which lie as the placement before it says, and with rows that they delete.
func (t *Transaction) SetPlacement(name TableName, placement string) error {
	return t.changeTable(name, takeNothing, func(v *TableVersion) (*TableVersion, error) { return v.Place(placement), nil })
}

// SetReplicas says how many replicas chunks are to have from now on; see Table.
func (t *Transaction) SetReplicas(name TableName, replicas int) error {
	return t.changeTable(name, takeNothing, func(v *TableVersion) (*TableVersion, error) { return v.Replicate(replicas), nil })
}

// SetRetention says which former versions are kept from now on. Those to be given up stay until Expire.
func (t *Transaction) SetRetention(name TableName, r Retention) error {
	return t.changeTable(name, takeNothing, func(v *TableVersion) (*TableVersion, error) { return v.Retain(r), nil })
}

// Redeclare gives a table's columns other properties, which all of its rows have; see TableVersion.Redeclare.
func (t *Transaction) Redeclare(name TableName, columns *arrow.Schema) error {
	return t.changeTable(name, takeNothing, func(v *TableVersion) (*TableVersion, error) { return v.Redeclare(columns) })
}

// Alter gives a table other columns; see TableVersion.Alter.
func (t *Transaction) Alter(name TableName, columns *arrow.Schema) error {
	if err := checkColumns(columns); err != nil {
		return err
	}
	return t.changeTable(name, takeNothing, func(v *TableVersion) (*TableVersion, error) { return v.Alter(columns) })
}

// changeTable gives a table its next version. First it takes the chunks that the version gets: they are the
// transaction's own, whatever fails then.
func (t *Transaction) changeTable(name TableName, take func() error,
	next func(*TableVersion) (*TableVersion, error)) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	if err := take(); err != nil {
		return err
	}
	before, err := own.table(name)
	if err != nil {
		return err
	}
	after, err := next(before)
	if err != nil {
		return err
	}
	t.setTable(own, name, after)
	return nil
}

func takeNothing() error { return nil }

// DropTable drops a table.
func (t *Transaction) DropTable(name TableName) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	if _, err := own.table(name); err != nil {
		return err
	}
	own.drop(name)
	t.relation[name], t.own = true, own
	return nil
}

// RenameTable gives a table another name, also in another schema.
func (t *Transaction) RenameTable(from, to TableName) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	v, err := own.table(from)
	if err != nil {
		return err
	}
	if err := own.free(to); err != nil {
		return err
	}
	own.drop(from)
	t.relation[from] = true
	t.setTable(own, to, v.Rename(to))
	return nil
}

// CreateView makes a view; columns may be nil when they are not known.
func (t *Transaction) CreateView(ctx context.Context, name TableName, sql string,
	columns *arrow.Schema) (*View, error) {
	own, err := t.change()
	if err != nil {
		return nil, err
	}
	if err := own.free(name); err != nil {
		return nil, err
	}
	id, err := t.catalog.newIdentity(ctx)
	if err != nil {
		return nil, err
	}
	v := &View{ID: TableID(id), Name: name, SQL: sql, Columns: columns, CreatedAt: t.catalog.options.Now().UTC()}
	own.setView(name, viewEntry{view: v})
	t.relation[name], t.own = true, own
	return v, nil
}

// Redefine puts another view in the place of one of the same identity, under its name or another one.
func (t *Transaction) Redefine(from TableName, v *View) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	before, ok := own.views.Get(from)
	if !ok {
		return quoted("view", from, ErrUndefinedTable)
	}
	if before.view.ID != v.ID {
		return fmt.Errorf("%w: %q is another view", ErrWrongKind, from)
	}
	if v.Name != from {
		if err := own.free(v.Name); err != nil {
			return err
		}
	}
	own.drop(from)
	own.setView(v.Name, viewEntry{v, before.revision})
	t.relation[from], t.relation[v.Name], t.own = true, true, own
	return nil
}

// Reads says what the query of a view that the transaction makes names: the commit fails with ErrConflict if one of
// them was dropped or renamed since the snapshot, and so does one that drops or renames it and does not know of the
// view (K10).
func (t *Transaction) Reads(names ...TableName) {
	for _, name := range names {
		if id := identity(t.base, name); id != 0 && id == identity(t.own, name) {
			t.reads[name] = id
		}
	}
}

// DropView drops a view.
func (t *Transaction) DropView(name TableName) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	if _, ok := own.views.Get(name); !ok {
		if _, table := own.tables.Get(name); table {
			return fmt.Errorf("%w: %q is a table, not a view", ErrWrongKind, name)
		}
		return quoted("view", name, ErrUndefinedTable)
	}
	own.drop(name)
	t.relation[name], t.own = true, own
	return nil
}

// Rollback ends the transaction without a trace; its chunks are discarded. After Commit it does nothing, so that it can
// be deferred.
func (t *Transaction) Rollback() {
	if t.over {
		return
	}
	t.over = true
	t.discard(t.taken)
}

func (t *Transaction) discard(ids map[ExtentID]bool) {
	if len(ids) > 0 {
		t.catalog.log("discard chunks", t.catalog.lender.Discard(sortedIDs(ids)...))
	}
}

func sortedIDs(ids map[ExtentID]bool) []ExtentID {
	return slices.SortedFunc(maps.Keys(ids), compareIDs)
}

func compareIDs(a, b ExtentID) int {
	return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Generation, b.Generation))
}

func checkName(name string) error {
	if wrong := keys.Wrong(name); wrong != "" {
		return fmt.Errorf("%w: %s", ErrName, wrong)
	}
	return nil
}

func checkColumns(columns *arrow.Schema) error {
	seen := map[string]bool{}
	for i := range columns.NumFields() {
		name := columns.Field(i).Name
		if err := checkName(name); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
		if seen[name] {
			return fmt.Errorf("%w: %q", ErrDuplicateColumn, name)
		}
		seen[name] = true
	}
	return nil
}
