package catalog

import (
	"errors"
	"fmt"
)

// Errors that SQL sees carry their SQLSTATE; errors.Is finds the kind.
var (
	// ErrConflict: another transaction committed a change to the same table, view or schema first. Safe to retry.
	ErrConflict = &sqlError{"40001", "could not serialize access due to a concurrent change"}
	// ErrUndefinedTable: no such table or view.
	ErrUndefinedTable = &sqlError{"42P01", "does not exist"}
	// ErrUndefinedSchema: no such schema.
	ErrUndefinedSchema = &sqlError{"3F000", "schema does not exist"}
	// ErrDuplicateTable: the name is taken by a table or view.
	ErrDuplicateTable = &sqlError{"42P07", "already exists"}
	// ErrUndefinedType: no such type.
	ErrUndefinedType = &sqlError{"42704", "does not exist"}
	// ErrDuplicateType: the name is taken by a type.
	ErrDuplicateType = &sqlError{"42710", "already exists"}
	// ErrDuplicateSchema: the schema is there already.
	ErrDuplicateSchema = &sqlError{"42P06", "schema already exists"}
	// ErrSchemaNotEmpty: DROP SCHEMA without CASCADE.
	ErrSchemaNotEmpty = &sqlError{"2BP01", "schema is not empty"}
	// ErrWrongKind: a table where a view is wanted, or the other way round.
	ErrWrongKind = &sqlError{"42809", "wrong object type"}
	// ErrName: a name that is empty or too long.
	ErrName = &sqlError{"42602", "invalid name"}
	// ErrDuplicateColumn: two columns of one name.
	ErrDuplicateColumn = &sqlError{"42701", "column specified more than once"}
	// ErrTransactionOver: the transaction was committed or rolled back before.
	ErrTransactionOver = &sqlError{"25000", "the transaction is over"}
	// ErrOutcomeUnknown: the store failed while committing and cannot say whether it did.
	ErrOutcomeUnknown = &sqlError{"08007", "transaction resolution unknown"}
	// ErrNotCommitted: the store did not answer, and was found not to have done the commit: nothing has changed. Safe
	// to retry.
	ErrNotCommitted = &sqlError{"57P03", "the catalog's store did not take the commit, nothing has changed"}
	// ErrDiskFull: the disk on which the store lies is full. Safe to retry when there is room.
	ErrDiskFull = &sqlError{"53100", "there is no room on the disk for the catalog's commit, nothing has changed"}
	// ErrBehind: the store has a commit that this node was not notified of in time. Safe to retry.
	ErrBehind = &sqlError{"57P03", "this node has not seen the cluster's last commit"}
	// ErrNodeTaken: another living node of the cluster has the name.
	ErrNodeTaken = &sqlError{"55006", "the node's name is taken"}
	// ErrFenced: the cluster has given this node up. Its snapshots are void and it commits nothing; it must restart.
	ErrFenced = &sqlError{"57P02", "the cluster has fenced this node off"}
	// ErrNotSure: this node does not hear from the cluster's store and cannot know whether it still is a member.
	ErrNotSure = &sqlError{"08006", "this node does not hear from the cluster"}
	// ErrLenderRestarted: a lender restarted while its memory was read or written. Safe to retry.
	ErrLenderRestarted = &sqlError{"40001", "a lender of the data restarted"}
	// ErrLenderGone: the lender of a region is not there.
	ErrLenderGone = &sqlError{"58000", "the lender of the region is not there"}
	// ErrFormat: the catalog is of another version of the program.
	ErrFormat = &sqlError{"0A000", "the catalog was written in another format"}
	// ErrCorrupt: a record of the catalog is damaged.
	ErrCorrupt = &sqlError{"XX001", "corrupt catalog record"}
	// ErrLeaseOver: the lease expired or was released; its holder must not read the snapshot any more.
	ErrLeaseOver = errors.New("the snapshot's lease is over")
	// ErrClosed: the catalog was closed.
	ErrClosed = errors.New("the catalog is closed")
)

// PartlyPublishedError says that lenders have published some of what they were asked to, and not the rest.
type PartlyPublishedError struct {
	Published []ExtentID
	Cause     error
}

// Error implements error.
func (e *PartlyPublishedError) Error() string { return e.Cause.Error() }

// Unwrap gives the cause.
func (e *PartlyPublishedError) Unwrap() error { return e.Cause }

type sqlError struct{ state, text string }

func (e *sqlError) Error() string    { return e.text }
func (e *sqlError) SQLState() string { return e.state }

// Retryable reports whether the same transaction may succeed when it is run again.
func (e *sqlError) Retryable() bool { return e.state == "40001" }

func quoted(kind string, name fmt.Stringer, err error) error {
	return fmt.Errorf("%s %q %w", kind, name.String(), err)
}
