package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// A statement over tables that lie in several nodes' memory is split by exec/plan/distribute:
//
//	coordinator ── fragment (text, versions, chunks) ──► nodes: run it over their part, write the result into their memory
//	     ▲                                                │
//	     └──────────── descriptors of the results ────────┘     the coordinator reads them in place and finishes
//
// A result that is shuffled is written in partitions by the hash of some columns; the fragments of a later stage read one partition
// each, of all nodes' results, in place. The results belong to the statement: however it ends they are let go, by the coordinator's word
// or because nothing is heard of it any more (N12 of cluster/noderpc).
//
// What the planner does not split runs whole here: every byte can be read from here. Where one node holds everything,
// nothing of this is in the plan.

// distributed is how a statement is run by several nodes. Immutable, but for requests.
type distributed struct {
	*distribute.Distributed
	versions map[*plan.Relation]*catalog.TableVersion
	requests keptRequests
}

// keptRequests are what the fragments were asked to do last, by fragment: those that read no results and have no parameters are asked to do
// the same again, as long as the plan is fresh. The zero value is ready. Safe for concurrent use.
type keptRequests struct {
	mu    sync.Mutex // guards the rest
	asked map[*distribute.Fragment]noderpc.FragmentRequest
	bytes int64 // of their payloads, requestBytes at most
}

// requestBytes bounds what a plan keeps of requests: those of a table of some thousand chunks.
const requestBytes = 64 << 10

func (k *keptRequests) find(f *distribute.Fragment, settings map[string]string) (noderpc.FragmentRequest, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	request, ok := k.asked[f]
	return request, ok && maps.Equal(request.Settings, settings)
}

func (k *keptRequests) keep(f *distribute.Fragment, request noderpc.FragmentRequest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	bytes := k.bytes - int64(len(k.asked[f].Payload)) + int64(len(request.Payload))
	if bytes > requestBytes {
		return
	}
	if k.asked == nil {
		k.asked = map[*distribute.Fragment]noderpc.FragmentRequest{}
	}
	k.asked[f], k.bytes = request, bytes
}

// distribute plans a statement for several nodes; nil: it runs whole here, for a reason.
func (s *Session) distribute(text string, tree *pg.ParseResult, v *visible) (*distributed, string) {
	e := s.engine
	switch {
	case e.node == nil || e.node.self == nil || s.fragment:
		return nil, ""
	case s.block != nil && s.block.tx != nil:
		return nil, "the transaction has written"
	case s.settings.distribute == distributeOff:
		return nil, "csm.distribute is off"
	}
	nodes := e.node.online()
	if len(nodes) < 2 {
		return nil, "there is no other node"
	}
	if !slices.Contains(nodes, e.config.Node) {
		return nil, "this node is drained"
	}
	versions := map[*plan.Relation]*catalog.TableVersion{}
	resolve := s.resolver(v)
	resolver := plan.ResolverFunc(func(database, schema, table string) *plan.Relation {
		r := resolve.Relation(database, schema, table)
		if r != nil {
			versions[r] = v.find(r.Schema, r.Name)
		}
		return r
	})
	placement := distribute.PlacementFunc(func(r *plan.Relation) *distribute.Layout {
		layout, err := e.layout(versions[r])
		if err != nil {
			return nil // read whole
		}
		return layout
	})
	settings := distribute.DefaultSettings(e.config.Node, nodes, e.threads())
	if s.settings.distribute == distributeAlways {
		settings.MinRows, settings.MinBytes, settings.MinGain = 0, 0, 0
	}
	switch s.settings.shuffle {
	case shuffleOff:
		settings.ShuffleBytes = 0
	case shuffleAlways:
		settings.ShuffleBytes, settings.ShuffleGain = 1, anyGain
	}
	if e.config.CutOffs != nil {
		e.config.CutOffs(&settings)
	}
	d, single := distribute.Plan(text, tree, resolver, placement, settings)
	if single != nil {
		return nil, single.Reason
	}
	return &distributed{Distributed: d, versions: versions}, ""
}

// anyGain has whatever can be shuffled shuffled.
const anyGain = 1e-6

// online lists the nodes that can run a fragment.
func (n *node) online() (names []string) {
	for _, m := range n.catalog.Members() {
		if m.State == catalog.Online {
			names = append(names, m.Name)
		}
	}
	return names
}

// nodes lists those that can run a fragment; none, if this node is alone.
func (e *Engine) nodes() []string {
	if e.node == nil || e.node.self == nil {
		return nil
	}
	return e.node.online()
}

// run is one execution of a distributed statement: the results that it has so far.
type run struct {
	session *Session
	plan    *distributed
	view    *visible
	args    []any
	results []stageResult // of the stages so far, in order
	tables  []*catalog.TableVersion

	mu        sync.Mutex // guards what follows
	remote    []*noderpc.FragmentRun
	local     [][]*catalog.Chunk
	progress  noderpc.FragmentProgress
	fragments int64
}

// stageResult is what the fragments of a stage have made.
type stageResult struct {
	columns []byte             // as descriptor.AppendSchema writes them
	parts   [][]*catalog.Chunk // by partition; all in one if it is not shuffled
	ran     []ranFragment      // in the order of the stage's
}

// ranFragment is a fragment that has a result.
type ranFragment struct {
	fragmentReport
	chunks   []*catalog.Chunk
	node     string // that ran it
	attempts int
	rows     int64
	read     noderpc.FragmentProgress
}

// release lets all results go, wherever they lie, at once: a round trip, however many nodes there are.
func (r *run) release() {
	r.session.engine.facts.forget(r.tables...)
	var told sync.WaitGroup
	for _, f := range r.remote {
		told.Go(func() {
			if err := f.Close(); err != nil {
				r.session.engine.config.Log.Debug("the result of a fragment was gone before it was released", "error", err)
			}
		})
	}
	for _, chunks := range r.local {
		r.session.engine.releaseResult(chunks)
	}
	told.Wait()
}

// letGo is release when the rows are closed: nobody waits for the round trip, unless there are large results or many of others, whose memory
// the next statement may need. The engine's end waits for it.
func (r *run) letGo() {
	e := r.session.engine
	var bytes int64
	for _, s := range r.results {
		for _, f := range s.ran {
			for _, c := range f.chunks {
				bytes += c.Bytes()
			}
		}
	}
	if bytes > laterBytes || !e.later.begin() {
		r.release()
		return
	}
	if !e.life.enterToClose() {
		e.later.done()
		r.release()
		return
	}
	go func() {
		defer e.life.leave()
		defer e.later.done()
		r.release()
	}()
}

const (
	laterBytes = 1 << 20 // of a statement's results may be let go when its rows are closed already
	laterMost  = 16      // statements whose results are let go so, at once
)

// pending counts statements whose results are being let go. The zero value is ready. Safe for concurrent use.
type pending struct{ n atomic.Int32 }

func (p *pending) begin() bool {
	if p.n.Add(1) > laterMost {
		p.n.Add(-1)
		return false
	}
	return true
}

func (p *pending) done() { p.n.Add(-1) }

// check tells whether everything that was read of the results so far was the results, and what they were made of.
func (r *run) check() error {
	for _, f := range r.remote {
		if err := f.Check(); err != nil {
			return err
		}
	}
	return r.trust()
}

// trust asks it of the tables: fragments read all over the cluster under this statement's lease.
func (r *run) trust() error {
	var regions []memregion.RegionID
	for _, v := range r.plan.versions {
		f := r.session.engine.facts.of(v)
		for id := range f.regions {
			regions = append(regions, id)
		}
	}
	return r.view.lease.snapshot.Trust(regions...)
}

// stage runs a stage's fragments at once. Those of this node begin when all others have been asked: what they do in C keeps a processor
// from whoever has something to send.
func (r *run) stage(ctx context.Context, stage *distribute.Stage) error {
	made := make([]ranFragment, len(stage.Fragments))
	group, running := errgroup.WithContext(ctx)
	var asked sync.WaitGroup
	here := func(f *distribute.Fragment) bool { return f.Node == r.session.engine.config.Node }
	for i := range stage.Fragments {
		if !here(&stage.Fragments[i]) {
			asked.Add(1)
		}
	}
	for i := range stage.Fragments {
		f := &stage.Fragments[i]
		ready := asked.Wait
		if !here(f) {
			ready = sync.OnceFunc(asked.Done)
		}
		group.Go(func() (err error) {
			defer r.recovered(&err)
			if !here(f) {
				defer ready()
			}
			// The result lives on after the group's context, until release.
			made[i], err = r.fragment(ctx, running, stage, f, ready)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return r.collect(stage, made)
}

// recovered makes a panic the statement's error, and not the end of a node that others use: a fragment reads other nodes' memory, of which
// this one may not have heard yet that it holds something else by now.
func (r *run) recovered(err *error) {
	if reason := recover(); reason != nil {
		r.session.engine.config.Log.Error("a part of a statement panicked", "reason", reason, "stack", string(debug.Stack()))
		*err = failure("XX000", "a part of the statement failed: %v", reason).hint("This is a mistake in csmsql; the node's log has the details.")
	}
}

// collect puts a stage's results together: a HugeTable for the final text, if that reads it.
func (r *run) collect(stage *distribute.Stage, made []ranFragment) error {
	result := stageResult{columns: made[0].Columns, parts: make([][]*catalog.Chunk, 1), ran: made}
	if stage.Shuffle != nil {
		result.parts = make([][]*catalog.Chunk, stage.Shuffle.Partitions)
	}
	for i := range made {
		if !slices.Equal(made[i].Columns, result.columns) {
			return fmt.Errorf("engine: fragments of stage %d give columns of different types", stage.Number)
		}
		chunks := made[i].chunks
		counts := made[i].Partitions
		if stage.Shuffle == nil {
			counts = []int{len(chunks)}
		}
		for part, n := range counts {
			result.parts[part], chunks = append(result.parts[part], chunks[:n]...), chunks[n:]
		}
	}
	r.results = append(r.results, result)
	if !slices.Contains(r.plan.Final.After(), stage.Number) {
		return nil
	}
	columns, err := descriptor.DecodeSchema(result.columns)
	if err != nil {
		return err
	}
	table, err := catalog.Collect(stageName(r.session.settings.searchPath, distribute.StageName(stage.Number)), columns, slices.Concat(result.parts...))
	if err != nil {
		return err
	}
	r.tables = append(r.tables, table)
	return nil
}

// fragment runs one fragment at its node; here, if that node cannot be reached: it only reads more remotely. ready says that another node
// was asked, or failed to be; before a fragment of this node it waits until all others were.
func (r *run) fragment(ctx, running context.Context, stage *distribute.Stage, f *distribute.Fragment, ready func()) (ranFragment, error) {
	e := r.session.engine
	request, err := r.request(running, stage, f)
	if err != nil {
		return ranFragment{}, err
	}
	attempts := 1
	if f.Node != e.config.Node {
		result, err := r.remotely(ctx, running, request, f.Node, ready)
		if err == nil {
			return ranOn(f.Node, attempts, stage, result)
		}
		if !unreachable(err) || running.Err() != nil {
			return ranFragment{}, err
		}
		e.counts.retried.Add(1)
		e.config.Log.Warn("a node does not run its fragment; it is run here", "node", f.Node, "error", err)
		attempts++
	}
	ready()
	result, err := e.runFragment(running, request)
	if err != nil {
		return ranFragment{}, err
	}
	r.mu.Lock()
	r.local = append(r.local, result.Chunks)
	r.count(result.Total)
	r.mu.Unlock()
	return ranOn(e.config.Node, attempts, stage, result)
}

// ranOn reads what a node says of a result.
func ranOn(node string, attempts int, stage *distribute.Stage, result noderpc.FragmentResult) (ranFragment, error) {
	f := ranFragment{chunks: result.Chunks, node: node, attempts: attempts, rows: result.Rows, read: result.Total}
	if err := json.Unmarshal(result.Statistics, &f.fragmentReport); err != nil {
		return f, failure("08P01", "node %q: the report of a fragment makes no sense: %v", node, err)
	}
	wanted, chunks := 0, 0
	if stage.Shuffle != nil {
		wanted = stage.Shuffle.Partitions
	}
	for _, n := range f.Partitions {
		if n < 0 || n > len(f.chunks)-chunks {
			return f, failure("08P01", "node %q: a partition of a fragment's result has %d chunks, of %d", node, n, len(f.chunks))
		}
		chunks += n
	}
	if len(f.Partitions) != wanted || wanted > 0 && chunks != len(f.chunks) {
		return f, failure("08P01", "node %q: a fragment's result has %d partitions with %d of its %d chunks, not %d", node, len(f.Partitions), chunks, len(f.chunks), wanted)
	}
	return f, nil
}

func (r *run) remotely(ctx, running context.Context, request noderpc.FragmentRequest, name string, sent func()) (noderpc.FragmentResult, error) {
	e := r.session.engine
	client, err := e.node.peers.get(running, name)
	if err != nil {
		return noderpc.FragmentResult{}, err
	}
	e.config.Fault.At(faults.FragmentAsking)
	// A result that is there is let go by release, which a lender hears at once, and not by the statement's context, after which it would
	// keep the result until it is sure that nobody reads it any more.
	bound, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(running, cancel)
	f, err := client.RunFragment(bound, request, noderpc.FragmentOptions{Lends: e.node.lends(name), Refusals: e.node.refusals, Sent: sent})
	if !stop() && err == nil { // it was cancelled with its last word
		err = running.Err()
		_ = f.Close() // there is no stream any more
	}
	if err != nil {
		cancel()
		return noderpc.FragmentResult{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remote = append(r.remote, f)
	r.count(f.Result.Total)
	return f.Result, nil
}

// count requires mu.
func (r *run) count(p noderpc.FragmentProgress) {
	r.fragments++
	r.progress.Rows += p.Rows
	r.progress.BytesLocal += p.BytesLocal
	r.progress.BytesRemote += p.BytesRemote
}

// unreachable tells that the node was not heard, which says nothing about the fragment.
func unreachable(err error) bool {
	var state interface{ SQLState() string }
	if errors.Is(err, catalog.ErrLenderGone) || errors.Is(err, noderpc.ErrNodeGone) || errors.Is(err, noderpc.ErrRestarted) {
		return true
	}
	return errors.As(err, &state) && slices.Contains([]string{"08006", "08001", "57P03", "53000"}, state.SQLState())
}

// request says what a fragment is to do.
func (r *run) request(ctx context.Context, stage *distribute.Stage, f *distribute.Fragment) (noderpc.FragmentRequest, error) {
	zone, err := r.session.Setting(zoneSetting)
	if err != nil {
		return noderpc.FragmentRequest{}, err
	}
	settings := map[string]string{
		zoneSetting: zone, planCacheMode: r.session.settings.values[planCacheMode], verifySetting: r.session.verification().setting(),
	}
	if request, ok := r.plan.requests.find(f, settings); ok {
		return request, nil
	}
	payload := fragmentPayload{SearchPath: r.session.settings.searchPath, Shuffle: stage.Shuffle}
	record := catalog.SnapshotRecord{Revision: r.view.contents.Revision(), Schemas: r.view.contents.Schemas()}
	seen := map[*catalog.TableVersion]bool{}
	for _, read := range stage.Reads {
		if read.Relation == nil {
			if err := payload.read(r.results[read.Stage-1], read, f); err != nil {
				return noderpc.FragmentRequest{}, err
			}
			continue
		}
		version := r.plan.versions[read.Relation]
		if !seen[version] {
			seen[version] = true
			encoded, err := version.Encode()
			if err != nil {
				return noderpc.FragmentRequest{}, err
			}
			record.Tables = append(record.Tables, encoded)
		}
		if read.Part {
			chunks, err := r.session.engine.chunksAt(ctx, version, f.Part)
			if err != nil {
				return noderpc.FragmentRequest{}, err
			}
			payload.Parts = append(payload.Parts, fragmentPart{read.Start, chunks})
		}
	}
	payload.Snapshot = record.Encode()
	encoded, err := json.Marshal(payload)
	if err != nil {
		return noderpc.FragmentRequest{}, err
	}
	if len(encoded) > noderpc.MaxFragmentPayload {
		return noderpc.FragmentRequest{}, errManyChunks
	}
	args, err := encodeArguments(argumentsOf(&stage.Text, r.args))
	if err != nil {
		return noderpc.FragmentRequest{}, err
	}
	request := noderpc.FragmentRequest{Query: stage.SQL, Revision: record.Revision, Payload: encoded, Parameters: args, Settings: settings}
	if len(args) == 0 && len(payload.Stages) == 0 {
		r.plan.requests.keep(f, request)
	}
	return request, nil
}

var errManyChunks = errors.New("engine: a part of the statement would read more chunks than one message can name")

// read adds what a fragment reads of an earlier stage's result: its partition, or everything.
func (p *fragmentPayload) read(result stageResult, read distribute.Read, f *distribute.Fragment) error {
	name := distribute.StageName(read.Stage)
	if i := slices.IndexFunc(p.Stages, func(s fragmentStage) bool { return s.Name == name }); i >= 0 {
		if p.Stages[i].part != read.Part {
			return fmt.Errorf("engine: a text reads stage %d whole and in part", read.Stage)
		}
		return nil
	}
	parts := result.parts
	if read.Part {
		if f.Partition >= len(parts) {
			return fmt.Errorf("engine: a fragment reads partition %d of %d of stage %d", f.Partition, len(parts), read.Stage)
		}
		parts = parts[f.Partition : f.Partition+1]
	}
	stage := fragmentStage{Name: name, Columns: result.columns, part: read.Part}
	for _, c := range slices.Concat(parts...) {
		stage.Chunks = append(stage.Chunks, c.Encoded())
	}
	p.Stages = append(p.Stages, stage)
	return nil
}

// sameTypes compares columns by type; names are taken over.
func sameTypes(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y arrow.Field) bool { return arrow.TypeEqual(x.Type, y.Type) })
}
