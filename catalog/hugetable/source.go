package hugetable

import (
	"bytes"
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
)

// Pages is where page contents come from: the store, or for a borrower the lender over RPC. The result is the
// caller's. A page that is not there is ErrLost.
type Pages interface {
	Page(ctx context.Context, id PageID) ([]byte, error)
}

// DefaultCacheBytes bounds a Source's cache when nothing else is said.
const DefaultCacheBytes = 128 << 20

// decodedFactor estimates what a page costs in memory once its descriptors are decoded, per encoded byte.
const decodedFactor = 8

// Source reads pages, keeps the recent ones and the descriptors decoded from them, within a bound. All versions of a
// catalog share one. Safe for concurrent use.
type Source struct {
	pages   Pages
	schemas descriptor.SchemaCache
	limit   int64

	mu      sync.Mutex
	aliases map[aliasKey]weak.Pointer[Version] // guarded by mu
	alone   map[*arrow.Schema]*arrow.Schema    // guarded by mu; of chunks that have orders: without them
	cached  map[PageID]*list.Element           // guarded by mu
	recent  *list.List                         // guarded by mu; of *loaded, most recent first
	bytes   int64                              // guarded by mu
}

// loaded is a page in memory. Chunks decode lazily; two readers may decode the same one, the first to store wins.
type loaded struct {
	id     PageID
	cost   int64
	page   *page
	chunks []atomic.Pointer[chunk.Chunk]
}

// NewSource returns a source with at most cacheBytes of memory (zero: DefaultCacheBytes).
func NewSource(pages Pages, cacheBytes int64) *Source {
	if cacheBytes <= 0 {
		cacheBytes = DefaultCacheBytes
	}
	return &Source{pages: pages, limit: cacheBytes, cached: map[PageID]*list.Element{}, recent: list.New()}
}

func (s *Source) load(ctx context.Context, ref PageRef) (*loaded, error) {
	if l := s.lookup(ref.ID); l != nil {
		// The reference is another version's perhaps; what was checked for one holds for the other only if it agrees.
		return l, l.page.check(ref)
	}
	data, err := s.pages.Page(ctx, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("read page %v: %w", ref.ID, err)
	}
	p, err := decodePage(data, ref)
	if err != nil {
		return nil, err
	}
	l := newLoaded(ref.ID, p, len(data))
	s.keep(l)
	return l, nil
}

func newLoaded(id PageID, p *page, size int) *loaded {
	chunks := make([]atomic.Pointer[chunk.Chunk], len(p.entries))
	return &loaded{id: id, page: p, cost: int64(size) * decodedFactor, chunks: chunks}
}

func (s *Source) lookup(id PageID) *loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.cached[id]
	if e == nil {
		return nil
	}
	s.recent.MoveToFront(e)
	return e.Value.(*loaded)
}

func (s *Source) keep(l *loaded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cached[l.id] != nil {
		return
	}
	s.cached[l.id] = s.recent.PushFront(l)
	s.bytes += l.cost
	for s.bytes > s.limit && s.recent.Len() > 1 {
		oldest := s.recent.Back()
		gone := s.recent.Remove(oldest).(*loaded)
		delete(s.cached, gone.id)
		s.bytes -= gone.cost
	}
}

// inherit keeps a page that is about to be stored, with those chunks decoded that it has from another one: of a table
// whose rows are deleted a few at a time, each commit rewrites a page, and the next statement reads all its chunks.
func (s *Source) inherit(p *NewPage, from *loaded) {
	decoded, err := decodePage(p.Data, p.Ref)
	if err != nil {
		return // its next load says so
	}
	l := newLoaded(p.Ref.ID, decoded, len(p.Data))
	for i := range l.chunks {
		if i < len(from.chunks) && bytes.Equal(decoded.entries[i].encoded, from.page.entries[i].encoded) {
			l.chunks[i].Store(from.chunks[i].Load())
		}
	}
	s.keep(l)
}

// Forget drops a page that no version has any more.
func (s *Source) Forget(id PageID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.cached[id]; e != nil {
		s.bytes -= s.recent.Remove(e).(*loaded).cost
		delete(s.cached, id)
	}
}

// decoder decodes chunks of one page after the other. For one goroutine.
type decoder struct {
	descriptor.Decoder
	chunks []chunk.Chunk // the block that the next one is taken from
}

// decoder for about so many chunks.
func (s *Source) decoder(chunks int) *decoder {
	return &decoder{Decoder: descriptor.Decoder{Schemas: &s.schemas, Expected: chunks}}
}

// chunk decodes a chunk unless it was done before; with d, or by itself if d is nil. Whatever the bytes are, what
// it returns is valid (the descriptor's D1 to D4).
func (s *Source) chunk(l *loaded, i int, d *decoder) (*chunk.Chunk, error) {
	if c := l.chunks[i].Load(); c != nil {
		return c, nil
	}
	if d == nil {
		d = s.decoder(1)
	}
	e := l.page.entries[i]
	made, err := d.Decode(e.encoded)
	if err != nil {
		return nil, err
	}
	if made.Rows != e.rows {
		return nil, fmt.Errorf("%w: a chunk of %d rows is listed with %d", ErrCorrupt, made.Rows, e.rows)
	}
	c := d.fresh()
	c.Init(made, e.encoded, nil)
	c = s.columnsAlone(c)
	if !l.chunks[i].CompareAndSwap(nil, c) {
		c = l.chunks[i].Load()
	}
	return c, nil
}

// decoderBlock bounds how many chunks stay because of one.
const decoderBlock = 32

func (d *decoder) fresh() *chunk.Chunk {
	if len(d.chunks) == 0 {
		d.chunks = make([]chunk.Chunk, min(d.Expected+1, decoderBlock))
	}
	c := &d.chunks[0]
	d.chunks = d.chunks[1:]
	return c
}

// columnsAlone shows a chunk, as it is stored, without its orders (H10).
func (s *Source) columnsAlone(c *chunk.Chunk) *chunk.Chunk {
	if !hasOrders(c) {
		return c
	}
	as := *c.Stored()
	n := columnsOf(as.Schema)
	as.Schema = s.schemaAlone(as.Schema, n)
	as.Columns, as.Statistics = as.Columns[:n:n], as.Statistics[:n:n]
	return c.Shown(&as, c.Sketches())
}

// schemaAlone is one without fields from n on: chunks of one schema share it.
func (s *Source) schemaAlone(schema *arrow.Schema, n int) *arrow.Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.alone[schema]; known != nil {
		return known
	}
	if s.alone == nil || len(s.alone) >= layoutsMost {
		s.alone = map[*arrow.Schema]*arrow.Schema{}
	}
	meta := schema.Metadata()
	s.alone[schema] = arrow.NewSchema(schema.Fields()[:n], &meta)
	return s.alone[schema]
}
