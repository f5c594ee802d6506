// Package namedtype is the types that users make, as SQL has them: CREATE TYPE … AS ENUM, and what names them.
//
//	CREATE TYPE mood AS ENUM ('sad', 'ok')  ─► Changes ─► a type of the catalog: labels with codes and orders
//	'ok'::mood       ─► Named  ─► 'ok'::csm_type__17     which texts that are kept have, too
//	m > 'ok'         ─► Labels ─► m > 'ok'::csm_type__17
//	csm_type__17     ─► SQL    ─► ENUM('sad', 'ok', …)   where DuckDB is given it
//	1::d             ─► Casts  ─► list_extract(list_transform(list_value(CAST(1 AS INTEGER)), csm_type__18), 1)
//	csm_type__18     ─► SQL    ─► lambda csm_value: CASE WHEN NOT (csm_value > 0) THEN error('23514: …') …
//	a result's column of the type ─► Stored ─► a table's, with the codes of the catalog
//
// # Words
//
// A type's call is what texts for DuckDB name it by, its number; a type is stored if its codes are those of the
// catalog, and not the places of its labels.
//
// # Invariants
//
//   - NT1: what names a type in a text that is kept names it by its number: it may be renamed.
//   - NT2: a type goes with no column, view, default or constraint that has it, or it stays.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It plans nothing: a caller that can asks DuckDB of what types strings are (typing.Labels). It knows no temporary
// types, which are DuckDB's.
package namedtype
