package planned

import (
	"errors"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// ErrMeaning is of a statement whose text was written for types that columns no longer have: it is to be prepared
// again, which its caller does, before it has read or written anything.
var ErrMeaning = errors.New("columns of what the statement names have other types by now")

// Outdated is the error of a prepared statement whose columns are others by now. Drivers that keep statements, pgJDBC
// and asyncpg, prepare it again when they see the routine's name.
func Outdated() *sqlerror.Error {
	e := sqlerror.New("0A000", "cached plan must not change result type").WithHint("Prepare the statement again.")
	e.RoutineName = "RevalidateCachedQuery"
	return e
}

// OtherTypes is ErrMeaning, as it is reported to a client where nothing prepares the statement again.
func OtherTypes() *sqlerror.Error {
	e := Outdated()
	e.Cause = ErrMeaning
	return e
}
