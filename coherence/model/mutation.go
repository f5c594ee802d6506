package model

import "github.com/csmsql/csmsql/coherence"

// Mutation names one way to break the protocol. It is the one switch that the model and the emulated memory of package
// coherence's tests share: each has its own table of what a mutation does there, and a test that no name is missing.
type Mutation uint8

// The rows of the design's list come first, those that the implementation added after them.
const (
	// None is the protocol as it is.
	None Mutation = iota
	NoWriterFlush
	NoFenceBeforePublish
	PublishBeforeFlush
	NoReaderFlush
	ReaderFlushesBeforeWrite
	NoFenceBeforeLoad
	HomeNotFlushed
	HomeFlushedBeforeWriter
	TwoExtentsInOneLine
	ReuseBeforeRelease
	AbortedLinesSurvive
	RememberedByAddress
	StoreIntoSealed
	WriterOneLineShort
	ReaderOneLineShort
	PapersOrder
	HomeOneLineShort
	ZeroesNotFlushed
	ShrunkTailSurvives
	ReaderStoreFence
	NoFenceBeforeReaderFlush
	FencedWriterReaches
	LenderDoesNotLook
	ZeroesForgotten
	StoredWhileAhead
	NoFenceAhead
	RestartForgetsWriters
	RestartForgetsReaders
	OrphanNotFlushed
	GrowNotFlushed
	ReallocatedUnacquired
	ReallocatedLinesSurvive
	ReplicaUnacquired
	ReadBesideAcquire
	EvictedNotFlushed
	StreamedNotFenced
	StoreIntoPassed

	mutationCount = int(StoreIntoPassed) + 1
)

var mutationNames = [mutationCount]string{
	None:                     "the protocol as it is",
	NoWriterFlush:            "no writer flush",
	NoFenceBeforePublish:     "no fence before publish",
	PublishBeforeFlush:       "publish before flush",
	NoReaderFlush:            "no reader flush",
	ReaderFlushesBeforeWrite: "reader flushes only before the write",
	NoFenceBeforeLoad:        "no fence between reader flush and load",
	HomeNotFlushed:           "home not flushed",
	HomeFlushedBeforeWriter:  "home flushed before the writer's flush",
	TwoExtentsInOneLine:      "two extents in one line",
	ReuseBeforeRelease:       "re-use before the last release",
	AbortedLinesSurvive:      "an aborted writer's dirty lines survive",
	RememberedByAddress:      "acquire remembered by address",
	StoreIntoSealed:          "a store into a sealed line",
	WriterOneLineShort:       "writer's range one line short",
	ReaderOneLineShort:       "reader's range one line short",
	PapersOrder:              "the papers' own order",
	HomeOneLineShort:         "home's range one line short",
	ZeroesNotFlushed:         "lender's zeroes not flushed before a foreign grant",
	ShrunkTailSurvives:       "a shrunk tail's dirty lines survive",
	ReaderStoreFence:         "reader's second fence is a store fence",
	NoFenceBeforeReaderFlush: "no fence before the reader's flush",
	FencedWriterReaches:      "a fenced-off writer still reaches the memory",
	LenderDoesNotLook:        "lender seals foreign bytes without a look at them",
	ZeroesForgotten:          "lender takes memory that was zeroed again for memory whose lines it dropped",
	StoredWhileAhead:         "lender drops lines ahead of memory that is stored into meanwhile",
	NoFenceAhead:             "no fence after the lender dropped lines ahead",
	RestartForgetsWriters:    "a lender that was started again forgets who may still write",
	RestartForgetsReaders:    "a lender is started again before leases of its former process are over",
	OrphanNotFlushed:         "what a former process lent goes back without its writer's flush",
	GrowNotFlushed:           "a writer does not flush what its lender copies into a longer extent",
	ReallocatedUnacquired:    "a lender copies what its cache has of a writer's extent",
	ReallocatedLinesSurvive:  "a lender keeps the lines of what it copied for a writer",
	ReplicaUnacquired:        "a replica is copied from what was not acquired",
	ReadBesideAcquire:        "a process reads what another one of its machine only begins to acquire",
	EvictedNotFlushed:        "a writer does not flush what its cache has evicted",
	StreamedNotFenced:        "no store fence between stores past the cache and their flush",
	StoreIntoPassed:          "a store into a line that was flushed when it was copied",
}

// faultsInSource are the mutations of what is above package coherence, which the emulated memory of its tests has
// no part in. Each is a fault in the source of lending, borrowing or the engine, by the name that it has in
// docs/mutations.md: their tests, over emulated memory, see it.
var faultsInSource = map[Mutation]string{
	RestartForgetsWriters:   "grants-are-not-journaled",
	RestartForgetsReaders:   "does-not-await-leases-of-its-former-process",
	OrphanNotFlushed:        "close-without-a-flush",
	GrowNotFlushed:          "grow-without-a-flush",
	ReallocatedUnacquired:   "copies-what-its-caches-have",
	ReallocatedLinesSurvive: "keeps-lines-of-what-it-copied",
	ReplicaUnacquired:       "copies-replicas-that-it-has-not-acquired",
	ReadBesideAcquire:       "does-not-wait-for-the-first",
}

// FaultInSource is the fault that m is in the source, or empty: then the emulated memory of package coherence plays m.
func (m Mutation) FaultInSource() string { return faultsInSource[m] }

func (m Mutation) String() string { return mutationNames[m] }

// Classes returns the fabrics on which m makes a difference.
func (m Mutation) Classes() []coherence.Class {
	switch m {
	case HomeNotFlushed, HomeFlushedBeforeWriter, HomeOneLineShort, LenderDoesNotLook:
		return []coherence.Class{coherence.IncoherentHomeSnoop}
	case ZeroesForgotten, StoredWhileAhead, NoFenceAhead, ReallocatedLinesSurvive: // on the other fabric the home clean drops these
		return []coherence.Class{coherence.Incoherent}
	}
	return Classes()
}

// Classes returns the fabrics that need a protocol.
func Classes() []coherence.Class {
	return []coherence.Class{coherence.Incoherent, coherence.IncoherentHomeSnoop}
}

// Mutations returns every mutation but None, in the order of the table.
func Mutations() (list []Mutation) {
	for m := None + 1; int(m) < mutationCount; m++ {
		list = append(list, m)
	}
	return list
}

// effects is what a mutation does in the model.
type effects struct {
	// These flushes are not issued.
	noPrepare, noClean, noHomeClean, noAcquire, noAbort, noShrink bool
	// These flushes leave out the extent's last line.
	cleanShort, homeShort, acquireShort bool
	// These fences wait for no flush.
	noCleanFence, noAcquireFence bool

	lateClean      bool // the writer's flush is issued after the publish
	earlyAcquire   bool // the reader's flush may have been done at any earlier time, so any part of it may be missing
	earlyFlush     bool // every cache drops the extent when it is handed over
	earlyHomeClean bool // the lender drops the extent before the writer flushes
	localKeeps     bool // a writer in the lender's domain does not flush where the lender's cache is snooped
	sharedLine     bool // both addresses lie in one line
	earlyReuse     bool // retired memory goes back although it is pinned
	byAddress      bool // readers remember the address
	lateStore      bool // the writer stores after the publish
	halves         bool // see Config.Halves
	fenceLeaks     bool // the lines of a domain that is fenced off are not lost
	// zeroesForgotten: the kernel zeroes memory that the lender takes for untouched.
	zeroesForgotten bool
	// aheadNotHeld: memory is granted and zeroed while the lender drops its lines ahead, and is taken for untouched
	// afterwards; noAheadFence: it is taken for untouched as soon as the flushes are issued.
	aheadNotHeld, noAheadFence bool

	restarts, grows, replicas, processes bool // see Config
	restartForgets                       bool // memory that others may still write is free after a restart
	restartHurries                       bool // a restart does not wait for readers
	noOrphan                             bool // the flush of a writer whose lender restarted
	noGrow                               bool // the flush of a writer before its lender copies
	noReallocate                         bool // the flush of the lender before it copies
	reallocatedStays                     bool // the flush of the lender after it copied is left out
	replicaUnacquired                    bool // the writer of a replica has not acquired what it copies
	readsBeside                          bool // a process reads when another one of its machine has begun to acquire

	evictions, copies bool // see Config
	evictedNotFlushed bool // a writer's flush does not wait for lines that have left its cache
	noStreamFence     bool // a writer flushes what it stored past the cache as long as that waits in a buffer
	storesAgain       bool // a writer stores into what it has passed

	keepPins bool // no mutation of the table: readers never unpin, which C6 must find
}

var effectsOf = [mutationCount]effects{
	NoWriterFlush:            {noClean: true},
	NoFenceBeforePublish:     {noCleanFence: true},
	PublishBeforeFlush:       {lateClean: true},
	NoReaderFlush:            {noAcquire: true},
	ReaderFlushesBeforeWrite: {noAcquire: true, earlyFlush: true},
	NoFenceBeforeLoad:        {noAcquireFence: true},
	HomeNotFlushed:           {noHomeClean: true},
	HomeFlushedBeforeWriter:  {noHomeClean: true, earlyHomeClean: true},
	TwoExtentsInOneLine:      {sharedLine: true},
	ReuseBeforeRelease:       {earlyReuse: true},
	AbortedLinesSurvive:      {noAbort: true},
	RememberedByAddress:      {byAddress: true},
	StoreIntoSealed:          {lateStore: true},
	WriterOneLineShort:       {cleanShort: true},
	ReaderOneLineShort:       {acquireShort: true},
	PapersOrder:              {noAcquire: true, noHomeClean: true, noPrepare: true, earlyFlush: true, localKeeps: true},
	HomeOneLineShort:         {homeShort: true},
	ZeroesNotFlushed:         {noPrepare: true},
	ShrunkTailSurvives:       {noShrink: true},
	ReaderStoreFence:         {noAcquireFence: true},
	NoFenceBeforeReaderFlush: {earlyAcquire: true},
	FencedWriterReaches:      {fenceLeaks: true},
	LenderDoesNotLook:        {halves: true}, // where lines are stored at once, there is nothing to find
	ZeroesForgotten:          {zeroesForgotten: true},
	StoredWhileAhead:         {aheadNotHeld: true},
	NoFenceAhead:             {noAheadFence: true},
	RestartForgetsWriters:    {restarts: true, restartForgets: true},
	RestartForgetsReaders:    {restarts: true, restartHurries: true},
	OrphanNotFlushed:         {restarts: true, noOrphan: true},
	GrowNotFlushed:           {grows: true, noGrow: true},
	ReallocatedUnacquired:    {grows: true, noReallocate: true},
	ReallocatedLinesSurvive:  {grows: true, reallocatedStays: true},
	ReplicaUnacquired:        {replicas: true, replicaUnacquired: true},
	ReadBesideAcquire:        {processes: true, readsBeside: true},
	EvictedNotFlushed:        {evictions: true, evictedNotFlushed: true},
	StreamedNotFenced:        {copies: true, noStreamFence: true},
	StoreIntoPassed:          {copies: true, storesAgain: true},
}
