package revalidation

import (
	"context"
	"errors"

	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Grounds are what a statement's text was written for. The zero value holds always.
type Grounds struct {
	Functions *function.Uses    // whose bodies it has
	Relations relation.Meanings // by whose columns' types it was written
}

// errChanged is in an error of grounds that do not hold.
var errChanged = errors.New("the statement was prepared for other functions or types")

// CheckFunctions is an error if functions are others by now (function.FN2). pin gives what the statement would see.
func (g *Grounds) CheckFunctions(ctx context.Context, pin func(context.Context) (*snapshot.View, error)) error {
	if g.Functions == nil {
		return nil
	}
	v, err := pin(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	err = g.Functions.Check(v.Contents)
	if e, ok := err.(*sqlerror.Error); ok {
		e.Cause = errChanged
	}
	return err
}

// CheckTypes is an error if columns have other types in v, where names looks them up.
func (g *Grounds) CheckTypes(v *snapshot.View, names func(*snapshot.View) *relation.Names) error {
	if len(g.Relations) == 0 || g.Relations.Hold(names(v)) {
		return nil
	}
	return Outdated().WithCause(errChanged)
}

// Check is CheckFunctions and CheckTypes.
func (g *Grounds) Check(ctx context.Context, pin func(context.Context) (*snapshot.View, error),
	names func(*snapshot.View) *relation.Names) error {
	if err := g.CheckFunctions(ctx, pin); err != nil || len(g.Relations) == 0 {
		return err
	}
	v, err := pin(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	return g.CheckTypes(v, names)
}

// Outdated is the error of a prepared statement whose columns are others by now. Drivers that keep statements, pgJDBC
// and asyncpg, prepare it again when they see the routine's name.
func Outdated() *sqlerror.Error {
	e := sqlerror.New("0A000", "cached plan must not change result type").WithHint("Prepare the statement again.")
	e.RoutineName = "RevalidateCachedQuery"
	return e
}

// Changed reports whether an error is of grounds that do not hold.
func Changed(err error) bool { return errors.Is(err, errChanged) }

// Run runs a statement, and prepares it again first if its grounds do not hold. prepare reports whether it takes and
// gives what it did: if not, the error says what has changed, and is not one for which a statement around it, which is
// the same as it was, would be prepared again.
func Run[R any](run func() (R, error), prepare func() (same bool, err error)) (R, error) {
	rows, changed := run()
	if !Changed(changed) {
		return rows, changed
	}
	same, err := prepare()
	switch {
	case err != nil:
		return rows, err
	case !same:
		return rows, final(changed)
	}
	return run()
}

// final is an error of grounds as the client gets it.
func final(changed error) error {
	var e *sqlerror.Error
	errors.As(changed, &e) // all of them are some
	last := *e
	last.Cause = nil
	return &last
}
