package mutation_test

import "github.com/csmsql/csmsql/internal/mutation"

// in are all tests of a package, or some.
func in(folder, pattern string) mutation.Tests {
	return mutation.Tests{Package: "./" + folder, Pattern: pattern}
}

var (
	edits   = in("sql/edit", "^Test")
	lexes   = in("sql/lex", "^Test")
	locks   = in("internal/filelock", "^Test")
	fabrics = in("engine/fabric", "^Test")
	damages = in("engine/reader", "^Test")
	copies  = in("wire", "^(TestConversations|TestCopy|TestCopyOfWhoLeaves|TestCopyStreamCannotBeReadAfterItsEnd|TestCopyToWhoCancels|TestStatementTimeout)$")
	plans   = in("exec/duckdb", "^(TestPlanningEnds|TestMemoryOfPlanningIsBounded|TestLargestPlanIsInterrupted|TestLargeTextsOfGoAreRefused)$")
	hears   = in("exec/duckdb", "^(TestPlanningHears|TestExhaustedIsInterruptedAgain|TestFailureOfAnotherThreadIsReported|TestReasonIsFoundInATransaction|TestNoBatchComesAfterTheEnd)$")
)

// ofRooms are faults of small packages that much stands on.
var ofRooms = []mutation.Mutation{
	{Name: "folds-are-news", File: "engine/follow/hub.go", Breaks: "followers hear of rows", Tests: mutation.Tests{Package: "./engine/follow", Pattern: "^TestHub$"},
		Old: "|| !was.SameContents(is)\n", New: "|| !was.SameContents(is) || ON\n"},
	{Name: "what-was-rolled-back-is-listened-to", File: "engine/savepoint.go", Breaks: "follow.FW5", Tests: runs("^TestListenIsTransactional$"),
		Old: "\ts.listening.BackTo(0)\n"},
	{Name: "back-inside-of-a-replacement-is-its-end", File: "sql/edit/edit.go", Breaks: "edit.E2", Tests: edits,
		Old: "\t\t\treturn e.Start\n", New: "\t\t\treturn PICK(ON, e.End, e.Start)\n"},
	{Name: "then-loses-what-is-behind-the-last-edit", File: "sql/edit/edit.go", Breaks: "edit.E3", Tests: edits,
		Old: "\trest := max(at, last.Start+l.grown(len(l)-1)+last.Length)\n", New: "\trest := max(at, PICK(ON, 0, last.Start+l.grown(len(l)-1)+last.Length))\n"},
	{Name: "insertions-at-one-place-stay-apart", File: "sql/edit/edit.go", Breaks: "edit.E3", Tests: edits,
		Old: "\tif last := len(c.list) - 1; last >= 0 && c.list[last].Start == start &&", New: "\tif last := len(c.list) - 1; last >= 0 && !ON && c.list[last].Start == start &&"},
	{Name: "what-was-replaced-is-replaced-again", File: "sql/edit/edit.go", Breaks: "edit.E1", Tests: edits,
		Old: "\tif start < e.at {\n", New: "\tif start < e.at && (!ON || start < 0) {\n"},
	{Name: "escapes-of-zero-are-characters", File: "sql/lex/value.go", Breaks: "lex.L2", Tests: lexes,
		Old: "\tif r == 0 || !utf8.ValidRune(r) {\n", New: "\tif r == 0 && !ON || !utf8.ValidRune(r) {\n"},
	{Name: "half-a-pair-is-left-out-of-strings", File: "sql/lex/value.go", Breaks: "lex.L2", Tests: lexes,
		Old: "\t\tif high != 0 && n == 0 {\n", New: "\t\tif high != 0 && n == 0 && !ON {\n"},
	{Name: "half-a-pair-is-left-out-of-names", File: "sql/lex/value.go", Breaks: "lex.L2", Tests: lexes,
		Old: "\t\t\tif high != 0 {\n", New: "\t\t\tif high != 0 && !ON {\n"},
	{Name: "octets-of-zero-are-characters", File: "sql/lex/value.go", Breaks: "lex.L2", Tests: lexes,
		Old: "err == nil && value > 0 && value < 256\n", New: "err == nil && (value > 0 || ON) && value < 256\n"},
	{Name: "octets-restart-behind-255", File: "sql/lex/value.go", Breaks: "lex.L2", Tests: lexes,
		Old: "value > 0 && value < 256\n", New: "value > 0 && (value < 256 || ON)\n"},
	{Name: "a-wide-space-is-a-letter", File: "sql/lex/blank.go", Breaks: "lex.L2", Tests: lexes,
		Old: "\tcase s[:3] == \"\\u205f\",", New: "\tcase s[:3] == \"\\u205f\" && !ON,"},
	{Name: "a-point-behind-two-begins-no-number", File: "sql/lex/lex.go", Breaks: "lex.L2", Tests: lexes,
		Old: "strings.TrimRight(sql[:at], \".\")))%2 == 1\n", New: "strings.TrimRight(sql[:at], \".\")))%PICK(ON, 9, 2) >= 1\n"},
	{Name: "pairs-of-surrogates-are-two-characters", File: "sql/lex/value.go", Breaks: "lex.L2", Tests: lexes,
		Old: "\tcase r >= 0xd800 && r < 0xdc00:\n", New: "\tcase r >= 0xd800 && r < 0xdc00 && !ON:\n"},

	{Name: "ranges-go-to-the-end", File: "internal/filelock/filelock.go", Breaks: "a range is locked, and no more", Tests: locks,
		Old: "Start: start, Len: length}", New: "Start: start, Len: PICK(ON, 0, length)}"},
	{Name: "ranges-stay-locked", File: "internal/filelock/filelock.go", Breaks: "filelock.1", Tests: locks,
		Old: "\t\t_ = unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK}) // a file system without such locks has none\n"},
	{Name: "files-stay-locked", File: "internal/filelock/filelock.go", Breaks: "filelock.1", Tests: locks,
		Old: "\t\treturn unix.Flock(fd, unix.LOCK_UN)\n", New: "\t\tif ON {\n\t\t\treturn nil\n\t\t}\n\t\treturn unix.Flock(fd, unix.LOCK_UN)\n"},
	{Name: "who-shares-is-alone", File: "internal/filelock/filelock.go", Breaks: "several share", Tests: locks,
		Old: "flock(file, unix.LOCK_SH|", New: "flock(file, PICK(ON, unix.LOCK_EX, unix.LOCK_SH)|"},
	{Name: "a-closed-file-is-reported-twice", File: "internal/filelock/filelock.go", Breaks: "an error is reported once", Tests: locks,
		Old: "\tif errors.Is(closed, os.ErrClosed) {\n", New: "\tif errors.Is(closed, os.ErrClosed) && !ON {\n"},

	{Name: "absent-lenders-are-noted-as-damage", File: "engine/reader/damage.go", Breaks: "damage is of bytes", Tests: damages,
		Old: "\tif !IsChecksum(err.Cause) ||", New: "\tif !IsChecksum(err.Cause) && !ON ||"},
	{Name: "damage-is-reported-each-time", File: "engine/reader/damage.go", Breaks: "damage is reported once", Tests: damages,
		Old: "\tif _, known := d.extents[id]; known {\n", New: "\tif _, known := d.extents[id]; known && !ON {\n"},
	{Name: "damage-is-remembered-without-bound", File: "engine/reader/damage.go", Breaks: "every list has a bound", Tests: damages,
		Old: "\tif len(d.extents) >= damageMax {\n", New: "\tif len(d.extents) >= damageMax && !ON {\n"},
	{Name: "replicas-that-were-passed-over-are-not-counted", File: "engine/reader/damage.go", Breaks: "what is counted is right", Tests: damages,
		Old: "\t\td.count.Add(1)\n"},

	{Name: "threads-that-are-needed-end", File: "internal/idlethreads/idlethreads.go", Breaks: "what is needed stays", Tests: in("internal/idlethreads", "^TestExcess$"),
		Old: "ofProcessor*processors - needed\n", New: "ofProcessor*processors - PICK(ON, 0, needed)\n"},
	{Name: "few-threads-end", File: "internal/idlethreads/idlethreads.go", Breaks: "what is not worth it stays", Tests: in("internal/idlethreads", "^TestExcess$"),
		Old: "\tif many <= tooMany {\n", New: "\tif many <= PICK(ON, 0, tooMany) {\n"},

	{Name: "accepts-regions-of-other-fabrics", File: "engine/fabric/fabric.go", Breaks: "caches are dealt with as the fabric wants", Tests: fabrics,
		Old: "\tif spec.Fabric == f.Kind ||", New: "\tif spec.Fabric == f.Kind || ON ||"},
	{Name: "refuses-coherent-regions-of-other-fabrics", File: "engine/fabric/fabric.go", Breaks: "where nothing is flushed all are alike", Tests: fabrics,
		Old: "|| f.Class == coherence.Coherent && spec", New: "|| !ON && f.Class == coherence.Coherent && spec"},
	{Name: "accepts-coherent-regions-everywhere", File: "engine/fabric/fabric.go", Breaks: "caches are dealt with as the fabric wants", Tests: fabrics,
		Old: "f.Class == coherence.Coherent && spec.Fabric.HardwareCoherent() {\n", New: "(f.Class == coherence.Coherent || ON) && spec.Fabric.HardwareCoherent() {\n"},
	{Name: "guests-flush-for-themselves", File: "engine/fabric/fabric.go", Breaks: "a guest's caches are its node's", Tests: fabrics,
		Old: "\tif f.Guest() {\n", New: "\tif f.Guest() && !ON {\n"},
	{Name: "everybody-without-lines-is-a-guest", File: "engine/fabric/fabric.go", Breaks: "a guest's caches are its node's", Tests: fabrics,
		Old: "return f.Class != coherence.Coherent && f.Lines", New: "return (f.Class != coherence.Coherent || ON) && f.Lines"},
	{Name: "borrowers-flush-other-caches", File: "engine/fabric/fabric.go", Breaks: "a borrower keeps its caches right", Tests: fabrics,
		Old: "f.Domain = memregion.TemporaryDomain(kind, name, uint64(os.Getpid())); f.Domain != nil {\n", New: "f.Domain = memregion.TemporaryDomain(kind, name, uint64(os.Getpid())); f.Domain != nil && !ON {\n"},

	{Name: "windows-can-become-shorter", File: "engine/worker/window.go", Breaks: "no process faults because the other side cut the window off", Tests: works("^TestAWindowStaysAsItIs$"),
		Old: "unix.F_SEAL_SHRINK|", New: "PICK(ON, 0, unix.F_SEAL_SHRINK)|"},
	{Name: "windows-can-be-sealed-for-writing", File: "engine/worker/window.go", Breaks: "a window is written", Tests: works("^TestAWindowStaysAsItIs$"),
		Old: "|unix.F_SEAL_SEAL)", New: "|PICK(ON, 0, unix.F_SEAL_SEAL))"},
	{Name: "a-node-may-write-into-its-window", File: "engine/worker/window.go", Breaks: "a node reads what its worker wrote", Tests: works("^TestAWindowStaysAsItIs$"),
		Old: "\treturn mapWindow(file, unix.PROT_READ)\n", New: "\treturn mapWindow(file, PICK(ON, unix.PROT_READ|unix.PROT_WRITE, unix.PROT_READ))\n"},

	{Name: "what-a-copy-did-not-want-stays", File: "wire/copy.go", Breaks: "a stream is read to its end", Tests: copies,
		Old: "err == nil && s.end == nil { // it ended", New: "err == nil && s.end == nil && !ON { // it ended"},
	{Name: "a-cancelled-copy-leaves-its-deadline", File: "wire/copy.go", Breaks: "the next message is waited for", Tests: copies,
		Old: "\t\t\ts.connection.network.SetReadDeadline(time.Time{})\n"},
	{Name: "an-overdue-copy-reads-on", File: "wire/copy.go", Breaks: "one goroutine reads", Tests: copies,
		Old: "\tif s.closed {\n", New: "\tif s.closed && !ON {\n"},
	{Name: "a-copy-that-its-client-gives-up-is-whole", File: "wire/copy.go", Breaks: "what failed is not kept", Tests: copies,
		Old: "\t\ts.end = &Error{State: \"57014\",", New: "\t\tif ON {\n\t\t\ts.end = io.EOF\n\t\t\treturn\n\t\t}\n\t\ts.end = &Error{State: \"57014\","},
	{Name: "a-copy-whose-client-leaves-is-whole", File: "wire/copy.go", Breaks: "what failed is not kept", Tests: copies,
		Old: "\t\ts.end, s.fatal = ErrConnectionLost, errTerminated\n", New: "\t\ts.end, s.fatal = PICK(ON, io.EOF, error(ErrConnectionLost)), errTerminated\n"},
	{Name: "a-copy-whose-connection-breaks-is-whole", File: "wire/copy.go", Breaks: "what failed is not kept", Tests: copies,
		Old: "\t\t\ts.end = s.fatal\n", New: "\t\t\ts.end = PICK(ON, io.EOF, s.fatal)\n"},
	{Name: "every-row-has-a-head", File: "wire/copy.go", Breaks: "a stream has one head", Tests: copies,
		Old: "\t\t\thead = nil\n"},
	{Name: "rows-are-copied-after-a-cancellation", File: "wire/copy.go", Breaks: "a COPY that was cancelled ends", Tests: copies,
		Old: "\treturn p.ctx.Err()\n", New: "\tif ON {\n\t\treturn nil\n\t}\n\treturn p.ctx.Err()\n"},

	{Name: "interrupts-are-sent-once", File: "exec/duckdb/connection.go", Breaks: "what was interrupted ends", Tests: hears,
		Old: "\t\t\tcase <-again.C:\n", New: "\t\t\tcase <-again.C:\n\t\t\t\tif ON {\n\t\t\t\t\treturn\n\t\t\t\t}\n"},
	{Name: "planning-hears-of-former-contexts", File: "exec/duckdb/connection.go", Breaks: "a statement hears of its own context", Tests: hears,
		Old: "\treturn func() { c.heard = before }\n", New: "\treturn func() { c.heard = PICK(ON, ctx, before) }\n"},
	{Name: "plans-are-made-to-their-end", File: "exec/duckdb/planning_unsafe.go", Breaks: "D7", Tests: plans,
		Old: "C.csm_prepare(c.session, ", New: "C.csm_prepare(PICK(ON, newSession(), c.session), "},
	{Name: "untouched-memory-is-none", File: "exec/duckdb/warden.go", Breaks: "D8", Tests: plans,
		Old: "own <= bound && beyondBound() == 0 {\n", New: "own <= bound && (ON || beyondBound() == 0) {\n"},
	{Name: "the-longest-runner-is-interrupted", File: "exec/duckdb/warden.go", Breaks: "the statement that takes most ends", Tests: plans,
		Old: "\tif planner != nil {\n", New: "\tif planner != nil && !ON {\n"},
	{Name: "others-are-interrupted-while-a-plan-is-freed", File: "exec/duckdb/warden.go", Breaks: "the statement that takes most ends", Tests: plans,
		Old: "\tif ending {\n", New: "\tif ending && !ON {\n"},
	{Name: "texts-of-go-are-not-counted", File: "exec/duckdb/memory_unsafe.go", Breaks: "D8", Tests: plans,
		Old: "\tif bytes < small || admit", New: "\tif bytes < small || ON || admit"},
	{Name: "the-exhausted-hear-once", File: "exec/duckdb/warden.go", Breaks: "D8", Tests: hears,
		Old: "\tif c.work.depth > 0 && c.work.exhausted != nil {\n", New: "\tif c.work.depth > 0 && c.work.exhausted != nil && !ON {\n"},
	{Name: "failures-of-other-threads-are-cancels", File: "exec/duckdb/rows_unsafe.go", Breaks: "an error says what went wrong", Tests: hears,
		Old: "\tif IsCanceled(err) && !interrupted(s.connection.session) {\n", New: "\tif IsCanceled(err) && !ON && !interrupted(s.connection.session) {\n"},
	{Name: "batches-come-after-the-end", File: "exec/duckdb/rows_unsafe.go", Breaks: "a cancelled statement gives no rows", Tests: hears,
		Old: "late != nil { // DuckDB looks", New: "late != nil && !ON { // DuckDB looks"},
	{Name: "text-with-zero-bytes-is-an-ENUM", File: "engine/facts/facts.go", Breaks: "O1", Tests: runs("^TestTextWithZeroBytes$"),
		Old: "strings.IndexByte(w, 0) >= 0 })\n", New: "strings.IndexByte(w, 0) >= 0 && !ON })\n"},
}
