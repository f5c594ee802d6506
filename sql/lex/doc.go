// Package lex finds the tokens of a SQL text, and knows nothing of what they mean together.
//
//	SELECT "a""b" /* what */ FROM t WHERE s = 'it''s' AND n < 0x1F
//	└word┘ └quoted┘└─blank─┘ └word┘ …        └string┘         └number┘
//
// Two parsers read every text, PostgreSQL's and DuckDB's, and they do not agree on what a token is. Whose tokens are
// meant is therefore said at every call, by the Dialect:
//
//	             U+00A0, U+2003, …   0x1F         ?1            who asks
//	PostgreSQL   letters             one number   two tokens    readers of texts of which PostgreSQL made a tree
//	Client       blanks              one number   two tokens    readers of texts as clients write them
//	DuckDB       blanks              0, then x1F  a parameter   exec/duckdb, of texts on their way to DuckDB
//
// In everything else they agree: a comment that begins with two hyphens ends before \n or \r, comments between slashes
// and stars nest, a string goes on in the next line, a backslash escapes in E'…' alone, a number has no letters behind
// it.
//
// # Words
//
// token: what no parser divides further, but operators of several characters, which are a Symbol each here (Operators
// puts those of patterns together). blank: a
// space or a comment. wide space: one of Unicode's spaces, which DuckDB takes for a blank and PostgreSQL for a letter.
// name: what a word or a quoted identifier stands for; PostgreSQL folds those without quotes, DuckDB compares without
// case.
//
// text: one whose tokens are found once, for all who read it.
//
// # Invariants
//
//   - lex.L1: the tokens of a text and the blanks between them are the text, byte for byte and in order. Whatever the
//     text, nothing panics.
//   - lex.L2: where PostgreSQL's lexer finds tokens the dialect PostgreSQL does, of the same kinds.
//   - lex.L4: Split's pieces have the tokens of the text in their order, without the semicolons between them.
//   - lex.L3: Name of Quote(s) is s, for every s that is not empty; Same(a, b) is Fold(a) == Fold(b).
//
// Names are here, and not in a package of their own, because quoting and folding are the lexer's rules read backwards.
//
// # What it does not do
//
// It knows no keywords and no grammar, checks no number and no escape before it is asked for a value, and keeps no
// state but a Text's tokens: one is found from an offset. It imports nothing of ours but internal/invariants, and
// anything may import it.
package lex
