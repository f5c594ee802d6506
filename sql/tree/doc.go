// Package tree gets a statement's syntax tree from PostgreSQL's parser, visits its messages (the nodes and everything
// in them), and moves their places to those in an edited text.
//
//	for m := range tree.All(parsed.ProtoReflect()) {
//		if call, ok := m.Interface().(*pg.FuncCall); ok { … }
//	}
//
// # Invariants
//
//   - tree.T1: All gives the message itself and then everything in it, each once; what is around comes before what is
//     inside.
//   - tree.T2: PostgreSQL's parser and lexer are called here alone, so that tests can count it (Parsed, Scanned).
//   - tree.T3: a tree that was made of others, for a text that was made of theirs, is what the parser makes of that
//     text, byte for byte: Check compares in tests.
//   - tree.T4: what PostgreSQL's parser is given has everything where the text has it; only DuckDB's PERCENT behind the
//     number of a sample is blank.
//
// # What it does not do
//
// It keeps no order among the fields of a message, and knows nothing of SQL but how samples are written: callers that
// need scopes read the nodes by their types. It imports nothing of ours but internal/invariants and sql/edit and
// sql/lex, and anything may import it.
package tree
