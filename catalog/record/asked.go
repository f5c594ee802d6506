package record

import "github.com/csmsql/csmsql/catalog/hugetable"

// TablesAsked is what a borrower asks of the tables of its snapshot: those of some names, of one identity, or all from
// a name on.
type TablesAsked struct {
	// Names are answered in their order; tables whose names are the same without regard to case are of one.
	Names []hugetable.TableName
	ID    hugetable.TableID
	All   bool
	From  hugetable.TableName
}

// TablesAnswer is the answer.
type TablesAnswer struct {
	Tables [][]byte // records as in the store
	Kept   [][]byte // former versions of those tables, as in the store
	// Answered is how many of the names are: one at least.
	Answered int
	// Next is where all go on; the zero value: there are no more.
	Next hugetable.TableName
}
