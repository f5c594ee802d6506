// Package pgformat converts values between Arrow and PostgreSQL's text and binary forms.
//
// Out: Columns encodes record batches into DataRow messages. In: Decode reads the parameters of Bind.
//
//	record batch              Columns.Bind: one appendFunc per column (PF2)
//	┌────┬────┬────┐
//	│ c0 │ c1 │ c2 │   row ─► 'D' │ length │ columns │ length │ c0 … │ length │ c1 … │ -1 │
//	│    │    │    │          └─ 1 ─┴── 4 ───┴─── 2 ───┴── 4 ───┘      └ null: no bytes ──┘
//	└────┴────┴────┘          lengths are written once the value is there
//
// How Arrow types are shown (TypeOf; a field's metadata overrides it):
//
//	bool → bool · int8, int16, uint8 → int2 · int32, uint16 → int4 · int64, uint32 → int8 · uint64, decimal* → numeric
//	float16, float32 → float4 · float64 → float8 · utf8, large, view → text · binary, large, view, fixed → bytea
//	date* → date · time* → time · timestamp → timestamp, with a zone timestamptz · intervals, duration → interval
//	arrow.uuid → uuid · arrow.json → json · arrow.bool8 → bool · dictionary, run-end → as their values
//	list, large list, fixed list, list view → array of the innermost type, if it has one; else json
//	struct, map, union → json · null → text
//
// A column may arrive in another layout than was announced (dictionary, view, narrower integer): the announced OID
// decides the form.
//
// # Invariants
//
//   - PF1: an encoder reads a batch only between Bind and the next Bind or Unbind.
//   - PF2: no type is looked at and nothing is allocated per row or value, lists and JSON of odd types excepted.
//   - PF3: decoding never reads past its bytes, checks a length against them before it uses it, and keeps none of them.
//   - PF4: what Columns writes is, byte for byte, what PostgreSQL 15 sends for the same value
//     (testdata/postgres15.txt).
//   - PF5: a parameter means the same in text and in binary.
//
// # What it does not do
//
// Timestamps are cut, not rounded, to microseconds. Arrays lose their lower bounds. Texts of dates that are not ISO and
// of intervals are not parsed but passed on. PostgreSQL's other date and interval styles are not written.
package pgformat
