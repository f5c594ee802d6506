package account

import "github.com/csmsql/csmsql/sql/lex"

// What a statement takes is estimated, above what was measured of texts from 20 bytes to 289 kB and of results from 1
// to 599 columns: trees and descriptions on Go's heap, plans in DuckDB.
const (
	// SessionBytes is what a session takes that does nothing: its connection to DuckDB, its goroutine and buffers.
	SessionBytes    = 64 << 10
	statementLeast  = 8 << 10
	treePerByte     = 64 // of texts whose trees are kept
	textPerByte     = 12 // of longer ones
	columnBytes     = 256
	planLeast       = 16 << 10
	planPerByte     = 400 // of short texts: a list of numbers takes most
	planPerByteMore = 80
	planShort       = 16 << 10
	planColumnBytes = 700
	// statementPart of what the session may have is the most that is charged for one statement, and for one plan, so
	// that one that is long can be planned on a small node, too. What is above is DuckDB's for the most part, which is
	// bounded where it allocates (decision 0009).
	statementPart = 8
)

// OfStatement is what is charged for a statement of so many bytes, whose tree is kept if they are no more than tree,
// and whose result has so many columns.
func (s *Session) OfStatement(bytes, tree, columns int) int64 {
	short := int64(min(bytes, tree))
	return s.atMost(statementLeast + short*treePerByte + (int64(bytes)-short)*textPerByte + int64(columns)*columnBytes)
}

// OfPlan is what is charged for the plan of a text of so many bytes, whose result has so many columns.
func (s *Session) OfPlan(bytes, columns int) int64 {
	short := int64(min(bytes, planShort))
	return s.atMost(planLeast + short*planPerByte + (int64(bytes)-short)*planPerByteMore + int64(columns)*planColumnBytes)
}

func (s *Session) atMost(bytes int64) int64 { return min(bytes, s.Most()/statementPart) }

const (
	// tokenBytes is what a token of a text takes while it is planned: up to 270 bytes were measured in PostgreSQL's
	// tree on Go's heap, and as much while it is parsed in C and on the way from there. Texts that are no trees, of
	// strings for the most part, take some copies.
	tokenBytes = 400
	parsedByte = 4
	// parsedFree is how long a text may be that is not worth counting.
	parsedFree = 256
)

// OfText is what a text takes while it is planned, 0 if that is not worth counting.
func OfText(read *lex.Text) int64 {
	if len(read.SQL) <= parsedFree {
		return 0
	}
	bytes := int64(len(read.SQL)) * parsedByte
	for range read.Tokens() {
		bytes += tokenBytes
	}
	return bytes
}
