package catalog

import "context"

// ByRows reports whether the transaction has done nothing but append and delete rows, which is what Advance can take
// along.
func (t *Transaction) ByRows() bool { return t.byRows() }

// Advance moves the transaction to a later snapshot, as if it had done there what it has done; points, marked in it
// before, are moved along. If what others have committed since does not go together with it, the error is the one that
// Commit would return, and nothing has changed. Requires: ByRows. The snapshot takes the place of the one that the
// transaction began on.
//
//	base ──── append x ───► own               rows 0 1 x
//	 └─────── append y ───► to                rows 0 1 y
//	                         └─► own          rows 0 1 y x
func (t *Transaction) Advance(ctx context.Context, to *Snapshot, points ...*Savepoint) error {
	if t.over {
		return ErrTransactionOver
	}
	if to.Contents == t.base {
		return nil
	}
	own, err := t.behind(ctx, to.Contents)
	if err != nil {
		return err
	}
	moved := make([]*Contents, len(points))
	for i, p := range points {
		if moved[i], err = t.pointBehind(ctx, p, to.Contents); err != nil {
			return err
		}
	}
	for i, p := range points {
		p.own = moved[i]
	}
	for name := range t.relation {
		if t.keepsKeys(name) {
			t.kept[name] = own.tables.Of(name).version
		}
	}
	t.base, t.own = to.Contents, own
	return nil
}

// GoesBehind returns the error that Advance to the snapshot would return.
func (t *Transaction) GoesBehind(ctx context.Context, to *Snapshot) error {
	if to.Contents == t.base {
		return nil
	}
	_, err := t.behind(ctx, to.Contents)
	return err
}

// behind applies the transaction's changes to later contents, and checks them against other changes as a commit is
// checked.
func (t *Transaction) behind(ctx context.Context, to *Contents) (*Contents, error) {
	if t.own == t.base {
		return to, nil
	}
	w := &commit{catalog: t.catalog, current: to, next: to.clone(), rows: map[string]bool{}}
	rows := map[TableName]*TableVersion{}
	for name := range t.relation {
		v, err := w.changedRows(ctx, t, name)
		if err != nil {
			return nil, err
		}
		rows[name] = v
	}
	if err := w.relate(ctx, t, rows); err != nil {
		return nil, err
	}
	own := w.next
	for name, v := range rows {
		own.setTable(name, tableEntry{v, own.tables.Of(name).revision})
	}
	return own, nil
}

// pointBehind returns a savepoint's contents on top of later ones.
func (t *Transaction) pointBehind(ctx context.Context, p *Savepoint, to *Contents) (*Contents, error) {
	if p.own == t.base {
		return to, nil
	}
	own := to.clone()
	for name := range p.relation {
		now, ok := to.tables.Get(name)
		if !ok {
			return nil, conflict("relation", name.String())
		}
		v, err := p.own.tables.Of(name).version.Rebase(ctx, t.base.tables.Of(name).version, now.version)
		if err != nil {
			return nil, diverged(err)
		}
		own.setTable(name, tableEntry{v, now.revision})
	}
	return own, nil
}
