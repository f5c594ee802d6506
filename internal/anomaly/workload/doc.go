// Package workload runs random transactions of many clients on a database, and keeps their history for package anomaly.
//
//	seed ─► tables ─► clients: BEGIN … COMMIT of appends and reads ─► history ─► anomaly.Check
//	           │         ▲   each has a session of its own, on whichever node its caller opens it
//	           │         └── answers: values, conflicts, none
//	           └ one for each way in which SQL can append
//
// An object is one key of one table. How a value is appended to it and read is the table's:
//
//	texts      lists  UPDATE … SET vs = vs || ',5', or = what was read before and 5
//	arrays     lists  UPDATE … SET vs = array_append(vs, 5)
//	upserts    lists  INSERT … ON CONFLICT DO UPDATE, MERGE; there is no row at first
//	rewritten  lists  DELETE, and INSERT of what was read and 5
//	inserts    sets   INSERT of a row, or several
//	deletes    sets   DELETE of a row that is there from the beginning: the set is of those that are gone
//	marks      sets   UPDATE of one of several rows
//
// # Words
//
//   - client: a session, and what it does there
//   - plan: the steps of a transaction, chosen before the first of them is asked
//   - step: one SQL statement
//   - concurrent: each client asks in a goroutine of its own; interleaved: one goroutine asks for all of them, in an
//     order that the seed decides, and no session waits for a row
//
// # Invariants
//
//   - WL1: the history has all that was answered, with correct moments: a question's before it is asked, an answer's
//     after it has arrived.
//   - WL2: a transaction is recorded as committed or aborted only if that is certain.
//   - WL3: interleaved, the order of the clients and of their statements depends on the seed and the answers alone.
//
// # What it does not do
//
// It knows no engine and no protocol: sessions are its caller's. It judges nothing but errors. READ COMMITTED writes
// back what it has read only under FOR UPDATE: without, it may lose others' updates, by definition.
package workload
