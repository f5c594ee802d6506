package planned

import "github.com/csmsql/csmsql/sql/sqlerror"

// Outdated is the error of a prepared statement whose columns are others by now. Drivers that keep statements, pgJDBC
// and asyncpg, prepare it again when they see the routine's name.
func Outdated() *sqlerror.Error {
	e := sqlerror.New("0A000", "cached plan must not change result type").WithHint("Prepare the statement again.")
	e.RoutineName = "RevalidateCachedQuery"
	return e
}
