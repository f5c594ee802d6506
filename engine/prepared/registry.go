package prepared

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Registry is a session's prepared statements by their names: those that PREPARE made, and those that the client named
// itself. One goroutine uses it.
type Registry struct {
	// Client is nil if the session's client speaks no protocol.
	Client Protocol
	// Take and Give charge the session's account.
	Take func(kind string, bytes int64) error
	Give func(kind string, bytes int64)

	made map[string]*Statement
}

// client are the protocol's.
func (r *Registry) client() Protocol { return cmp.Or(r.Client, Protocol(none{})) }

// most bounds the statements that PREPARE makes in a session.
const most = 1 << 14

// Made finds one that PREPARE made.
func (r *Registry) Made(name string) (*Statement, bool) {
	n, ok := r.made[name]
	return n, ok
}

// Find finds one by its name (26000).
func (r *Registry) Find(name string) (*Statement, error) {
	if n, ok := r.made[name]; ok {
		return n, nil
	}
	if n, ok := r.client().Find(name); ok {
		return n, nil
	}
	return nil, sqlerror.New("26000", "prepared statement %q does not exist", name)
}

// Refuse is the error of a PREPARE under that name (42P05), or of one too many (53400).
func (r *Registry) Refuse(name string) error {
	if _, err := r.Find(name); err == nil {
		return sqlerror.New("42P05", "prepared statement %q already exists", name).
			WithHint("DEALLOCATE it first, or use another name.")
	}
	if len(r.made) >= most {
		return sqlerror.New("53400", "too many prepared statements in this session").
			WithHint("DEALLOCATE those that are no longer needed.")
	}
	return nil
}

// Add keeps one that PREPARE made, unless that was given up.
func (r *Registry) Add(ctx context.Context, n *Statement) error {
	if err := r.Take(account.Statement, n.Bytes()); err != nil {
		return err
	}
	if !outcome.Commits(ctx) {
		r.Give(account.Statement, n.Bytes())
		return outcome.ErrUserRequest
	}
	if r.made == nil {
		r.made = map[string]*Statement{}
	}
	r.made[n.Name] = n
	return nil
}

// Again has prepare make another statement of n's name, and keeps n if it fails.
func (r *Registry) Again(n *Statement, prepare func(text, in string) error) (*Statement, error) {
	delete(r.made, n.Name)
	if err := prepare(n.Source, n.In); err != nil {
		r.made[n.Name] = n
		return nil, err
	}
	r.Give(account.Statement, n.Bytes())
	return r.Find(n.Name)
}

// Forget removes one that PREPARE made, if there is one of the name.
func (r *Registry) Forget(name string) (was bool) {
	n, was := r.made[name]
	if was {
		r.Give(account.Statement, n.Bytes())
		delete(r.made, name)
	}
	return was
}

// ForgetAll removes all, the client's among them.
func (r *Registry) ForgetAll() {
	for name := range r.made {
		r.Forget(name)
	}
	r.client().Forget("")
}

// Deallocate is DEALLOCATE, of all if name is empty. It gives the command's tag.
func (r *Registry) Deallocate(name string) (tag string, err error) {
	if name == "" {
		r.ForgetAll()
		return "DEALLOCATE ALL", nil
	}
	if ours, clients := r.Forget(name), r.client().Forget(name); !ours && !clients {
		return "", sqlerror.New("26000", "prepared statement %q does not exist", name)
	}
	return "DEALLOCATE", nil
}

// Shown are all of them as pg_prepared_statements shows them.
func (r *Registry) Shown() []pgcatalog.Prepared {
	list := slices.Concat(r.client().List(), slices.Collect(maps.Values(r.made)))
	slices.SortFunc(list, func(a, b *Statement) int { return strings.Compare(a.Name, b.Name) })
	rows := make([]pgcatalog.Prepared, len(list))
	for i, n := range list {
		rows[i] = pgcatalog.Prepared{
			Name: n.Name, Statement: n.Source, Since: n.Since, Types: n.OIDs, FromSQL: n.FromSQL,
		}
	}
	return rows
}
