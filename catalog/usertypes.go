package catalog

import (
	"context"
	"fmt"
	"iter"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/internal/persistent"
)

// A user-defined type has a name among those of tables and views, and an identity. The columns of tables that have it
// know its labels, too: a transaction that changes those changes the tables with it. One that makes a table of a type
// says so (Reads), so that the later commit of the two fails (K10).

// UserType is a user-defined type, or a function. Immutable.
type UserType = record.Type

var FunctionName = record.FunctionName

// typeEntry carries the store revision of its record, as those of tables do.
type typeEntry struct {
	is       *UserType
	revision Revision
}

func (c *Contents) setType(name TableName, e typeEntry) {
	c.name(e.is.ID, name)
	c.types = c.types.With(name, e)
}

// Types lists the user-defined types by name, Functions the functions, which lie among them.
func (c *Contents) Types() []*UserType     { return c.listed(false) }
func (c *Contents) Functions() []*UserType { return c.listed(true) }

func (c *Contents) listed(functions bool) (list []*UserType) {
	for _, e := range c.types.All() {
		if (e.is.Function != nil) == functions {
			list = append(list, e.is)
		}
	}
	return list
}

// HasTypes reports whether there are any, or functions, without looking at them.
func (c *Contents) HasTypes() bool { return c.types.Len() > 0 }

// Type finds a user-defined type, Function a function.
func (c *Contents) Type(name TableName) (*UserType, bool)     { return c.typeNamed(name, false) }
func (c *Contents) Function(name TableName) (*UserType, bool) { return c.typeNamed(name, true) }

func (c *Contents) typeNamed(name TableName, isFunction bool) (*UserType, bool) {
	e, ok := c.types.Get(name)
	return e.is, ok && (e.is.Function != nil) == isFunction
}

// TypeOf finds one by its identity.
func (c *Contents) TypeOf(id TableID) (*UserType, bool) {
	name, ok := c.names.Get(id)
	if !ok {
		return nil, false
	}
	return c.Type(name)
}

// SharesTypes is SharesViews for types.
func (c *Contents) SharesTypes(other *Contents) bool { return other != nil && c.types.Is(other.types) }

// typesSince is TablesSince for types.
func (c *Contents) typesSince(other *Contents) iter.Seq2[*UserType, *UserType] {
	return persistent.Changes(other.types, c.types, func(e typeEntry) *UserType { return e.is })
}

// CreateType makes a domain, a function, or an enumerated type of labels, which get their codes, orders and identities.
func (t *Transaction) CreateType(ctx context.Context, made *UserType, labels ...string) (*UserType, error) {
	name := made.Name
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
	made.ID, made.CreatedAt = TableID(id), t.catalog.options.Now().UTC()
	for i, text := range labels {
		if id, err = t.catalog.newIdentity(ctx); err != nil {
			return nil, err
		}
		made.Labels = append(made.Labels, enumeration.Label{Text: text, Code: uint8(i), Order: float32(i + 1), ID: id})
	}
	if err := made.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrName, err)
	}
	own.setType(name, typeEntry{is: made})
	t.relation[name], t.own = true, own
	return made, nil
}

// NewIdentity is a number that nothing of the catalog's has or gets.
func (t *Transaction) NewIdentity(ctx context.Context) (uint64, error) {
	return t.catalog.newIdentity(ctx)
}

// DropType drops a type. That no column has it is the caller's business.
func (t *Transaction) DropType(name TableName) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	if _, ok := own.types.Get(name); !ok {
		return quoted("type", name, ErrUndefinedType)
	}
	own.drop(name)
	t.relation[name], t.own = true, own
	return nil
}

// RedefineType puts another state of a type in the place of the one that has a name, under that or another one. The
// tables that have it are the caller's to change.
func (t *Transaction) RedefineType(from TableName, is *UserType) error {
	own, err := t.change()
	if err != nil {
		return err
	}
	before, ok := own.types.Get(from)
	if !ok {
		return quoted("type", from, ErrUndefinedType)
	}
	if before.is.ID != is.ID {
		return fmt.Errorf("%w: %q is another type", ErrWrongKind, from)
	}
	if is.Name != from {
		if err := own.free(is.Name); err != nil {
			return err
		}
	}
	if err := is.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrName, err)
	}
	own.drop(from)
	own.setType(is.Name, typeEntry{is, before.revision})
	t.relation[from], t.relation[is.Name], t.own = true, true, own
	return nil
}

// typesAltered is alteredBelow of types and functions: a transaction that makes a table of a type knows its labels, and
// needs it; one that makes a view of a function knows its body.
func (w *commit) typesAltered(t *Transaction) {
	for was, is := range t.own.typesSince(t.base) {
		if was != nil {
			if _, stays := t.own.names.Get(was.ID); !stays {
				w.compares(store.NothingNewer(keys.Reader(was.ID), t.base.revision))
				w.remove(keys.Reader(was.ID))
				w.remove(keys.Columns(was.ID))
			}
		}
		if is == nil {
			continue
		}
		if _, ok := t.base.names.Get(is.ID); ok {
			w.compares(store.NothingNewer(keys.Reader(is.ID), t.base.revision))
			w.put(keys.Columns(is.ID), nil)
		}
	}
}

// typeRelation is a name that meant a type: it is dropped, unless it is put again.
func (w *commit) typeRelation(e typeEntry, name TableName) {
	w.compares(unchanged(keys.Type(e.is.ID), e.revision))
	w.remove(keys.Type(e.is.ID))
	w.remove(keys.Name(name))
}

func (w *commit) newType(e typeEntry, name TableName) {
	w.put(keys.Type(e.is.ID), e.is.Encode())
	w.put(keys.Name(name), record.EncodeName(record.KindType, e.is.ID))
	w.next.setType(name, typeEntry{is: e.is})
}

// keptBesideTypes is keptBeside of types.
func (c *Contents) keptBesideTypes(other *Contents) (bytes int64) {
	for _, is := range c.typesSince(other) {
		bytes += noteBytes + 3*hugetable.PathBytes(c.names.Len())
		if is != nil {
			bytes += int64(len(is.Labels))*noteBytes + 4*int64(len(is.Encode()))
		}
	}
	return bytes
}

func decodeType(data []byte) (*UserType, error) {
	t, err := record.DecodeType(data)
	return t, damaged("type", err)
}
