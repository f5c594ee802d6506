// Package compute runs the plans of exec/plan over Arrow batches by arrow-go's compute kernels: the second backend, for
// what needs no DuckDB. It must give DuckDB's answers (X1), for it is both a shortcut and the second implementation
// that tests compare with. docs/decisions/0031 has the measurements.
//
//	Source ──► batch ─┬─► morsel (≤ 65,536 rows) ──► filter ──► rows that stay ─┬─► project ──┐ in order
//	  │               ├─► morsel     kernels over     bitmap    gathered, each  │  kernels    ├──► limit ──► Reader
//	  │               └─► …          whole columns              column once     └─► sums ─────┘
//	  │                   one goroutine each, joined before the next round          merged at the end, one row
//	  └──► whole batches, untouched ────────── plain columns without filter ───► limit (a slice) ──► Reader
//
// # Words
//
//   - source: what delivers a table's chunks, opened by the caller, who also leaves chunks out by the scan's
//     predicates.
//   - morsel: the stretch of rows that a thread computes at once. It bounds memory and the time to notice a cancel.
//   - round: the morsels that are computed at once, all of one batch, at most one for each thread.
//   - domain: the few forms into which values of all types are brought where no kernel computes: 64-bit integers (also
//     narrow decimals, dates, timestamps), doubles, booleans, texts, 128-bit numbers.
//   - narrowed: the rows that a filter leaves; a column is narrowed when something asks for it.
//   - logical, physical: the type that users see; how a chunk stores it.
//
// # Invariants
//
//   - X1 Names, types and values are those of DuckDB 1.5 for every plan that exec/plan makes; where an overflow is an
//     error there, it is one here, and where none is there, none is here.
//   - X2 A column that is output as it is, is handed on in place: the same buffers, sliced if rows are cut off. It
//     keeps its physical type; everything else has its logical one, of which decimals of up to 18 digits are decimal64.
//     Every batch has the reader's schema. If chunks differ in layout, the source must say in Schema what they come out
//     as.
//   - X3 A source's columns are checked against what the plan scans before a value is read.
//   - X4 A run holds one batch of the source and one morsel's arrays for each thread; after cancel it reads no further
//     batch and stops within a morsel. No goroutine outlives a call of Next, and Next never returns an empty batch.
//     Rows come in the table's order; under LIMIT one thread computes, and of what the limit leaves out the rest of a
//     morsel.
//   - X5 Kernels are called for values of fixed width alone. They run in goroutines of arrow-go's, where a panic ends
//     the process, and the offsets of texts in lent memory can be torn: texts are read here, where a panic is the
//     session's.
//   - X7 No row that is deleted (Without) is output or aggregated: the columns of a batch that has some are gathered,
//     all others stay in place as X2 says. Only conditions, which cannot fail, may be asked of them.
//   - X8 The numbers of rows (Numbered) are those that they have in the batch that came, whichever rows are left out.
//   - X6 Everything allocated comes from the caller's allocator and goes back when the reader is released.
//   - X9 What the allocator refuses ends the run with its error (Memory). It is asked before texts or lists are copied,
//     and looked at after each step of an expression.
//
// # What the kernels do, and what they do not (arrow-go 18.8)
//
//	comparison with a constant      kernel; of decimals as integers, of an ordered dictionary's codes
//	  two DOUBLE columns            ours: NaN has a place in DuckDB's order
//	  other scales                  ours where the constant cannot be brought to the column's
//	  texts, LIKE                   ours, once for each text of a dictionary: no kernel knows views or LIKE
//	AND OR NOT                      kernel (Kleene); "not" errs on slices, so what it gets begins with a byte
//	IS NULL                         ours: the kernel errs on slices
//	+ - * / and negation            unchecked kernels in 64 bits or DOUBLE; overflows are looked for here: the checked
//	                                kernels miss some, find some that are none, and look at what lies where NULL is
//	casts between numbers           kernel
//	rows that stay                  ours: the filter kernel is slower, errs on booleans, knows no views or decimal64
//	sum avg min max count           ours: there are no kernels
//
// # Physical types
//
//	logical              may lie in a chunk as
//	VARCHAR              utf8, large_utf8, utf8_view, dictionary of one of these (without NULLs in the dictionary)
//	DECIMAL(p, s)        decimal32, decimal64, decimal128 of the same p and s
//	BLOB                 binary, large_binary, binary_view
//	everything else      itself
//
// # Semantics: types
//
//	literal      1                INTEGER, BIGINT if larger; HUGEINT: not done
//	             1.50             DECIMAL(digits written, digits behind the point)
//	             1e0              DOUBLE
//	             'x' NULL true    VARCHAR, INTEGER in the end, BOOLEAN
//	+ - *        int, int         the wider; a literal takes the column's type if its value fits
//	             decimal, int     int becomes DECIMAL(3|5|10|19, 0)
//	             decimal, decimal + -: DECIMAL(max whole + max scale + 1, max scale); *: DECIMAL(p1+p2, s1+s2); both cut to
//	                              18 digits, beyond which they overflow (22003); operands over 18 digits: not done
//	             double, any      DOUBLE (integers, decimals of ≤ 15 digits); IEEE: infinities and NaN, no error
//	/            any of these     DOUBLE; x / 0 is ±Infinity or NaN
//	-x           as x             22003 for the least integer
//	CAST         exact as exact   22003 if it does not fit; one that would round: not done
//	FLOAT, unsigned, HUGEINT      no arithmetic; FLOAT, UBIGINT and wide decimals are not compared either
//	count        BIGINT           sum: integers HUGEINT (decimal128(38, 0)), DECIMAL(p, s) DECIMAL(38, s), DOUBLE
//	avg          DOUBLE           min, max: the argument's type
//
// # Semantics: values
//
//	comparison   exact numbers exactly, whatever their scales; with a DOUBLE as DOUBLE; NaN = NaN, NaN above everything,
//	             -0 = 0; text bytewise; DATE beside TIMESTAMP as midnight; false < true
//	logic        three-valued; x IN (a, b) is x = a OR x = b; BETWEEN is >= AND <=; WHERE keeps true only
//	LIKE         % matches any string; _ and \ in the pattern: not done
//	aggregates   ignore NULL; of nothing they are NULL, counts 0; of equal extremes (-0 and 0) the first of a thread
//	avg          exact sum; SMALLINT, TINYINT and decimals of ≤ 4 digits divided in DOUBLE, others in 64-bit-mantissa long
//	             double as DuckDB does on amd64 (elsewhere its last bit may differ)
//	sum of DOUBLE  in the threads' order, as DuckDB's is, so compare with a tolerance
//	LIMIT        the first rows in table order; LIMIT NULL is none; negative is 2201W
//
// What DuckDB's optimizer may rearrange so that an overflow comes or goes is refused by the planner: overflowing
// arithmetic in conditions and under LIMIT, sum(x + constant).
//
// # What it does not do
//
// No GROUP BY, joins, ORDER BY, DISTINCT, HAVING, sub-queries, functions: the planner says so and DuckDB runs them. No
// spilling. It neither opens tables nor holds leases: the batches it gets must stay valid until it releases them.
package compute
