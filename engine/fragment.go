package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/ingest"
)

// A fragment is a part of a query that one node runs. Everything that it needs to know travels with it: the versions of the
// tables that the coordinator's snapshot sees, and which chunks of which occurrence are its part. So it does not matter
// how far the node is with the catalog, and the coordinator's lease is the only one.

// fragmentPayload is what engines tell each other of a fragment beside its text. It comes from outside.
type fragmentPayload struct {
	// Snapshot is a catalog.SnapshotRecord of the tables that the text reads.
	Snapshot []byte
	// SearchPath is the coordinator's session's.
	SearchPath []string
	// Parts are the occurrences that are not read whole, by where their names stand in the text.
	Parts []fragmentPart `json:",omitempty"`
	// Stages are the results that the text reads.
	Stages []fragmentStage `json:",omitempty"`
}

type fragmentPart struct {
	Start  int
	Chunks []int
}

// fragmentStage is the result of other fragments: a HugeTable in no catalog.
type fragmentStage struct {
	Name    string
	Columns []byte   // as descriptor.AppendSchema writes them
	Chunks  [][]byte // descriptors
}

// fragmentOwner is whose quota results of fragments count against.
const fragmentOwner = "csm.fragment"

// fragments runs parts of other nodes' queries.
type fragments struct{ engine *Engine }

// Run implements noderpc.Fragments.
func (f fragments) Run(ctx context.Context, _ noderpc.Peer, request noderpc.FragmentRequest, _ func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
	e := f.engine
	ctx, leave, err := e.life.call(ctx)
	if err != nil {
		return noderpc.FragmentResult{}, err
	}
	defer leave()
	result, err := e.runFragment(ctx, request)
	if err != nil && errors.Is(e.life.told(err), ErrClosed) {
		err = errClosed // nothing is wrong with the query: another node can run it
	}
	if release := result.Release; release != nil {
		result.Release = func() {
			if e.life.enterToClose() { // otherwise it went with the node
				defer e.life.leave()
				release()
			}
		}
	}
	return result, err
}

// runFragment runs a part of a query; its result lies in this node's memory until it is released.
func (e *Engine) runFragment(ctx context.Context, request noderpc.FragmentRequest) (result noderpc.FragmentResult, err error) {
	var payload fragmentPayload
	if err := json.Unmarshal(request.Payload, &payload); err != nil {
		return result, failure("08P01", "a fragment's payload makes no sense: %v", err)
	}
	s, err := e.fragments.session(e)
	if err != nil {
		return result, err
	}
	defer func() {
		e.fragments.done(s, err)
		e.counts.fragment(result.Total, err)
	}()
	if err := s.life.enter(); err != nil {
		return result, err
	}
	defer s.life.leave()
	s.settings.searchPath = payload.SearchPath
	v, made, err := e.fragmentView(request, &payload)
	if err != nil {
		return result, err
	}
	defer e.facts.forget(made...)
	defer v.release()
	tree := treeOf(request.Query)
	if tree == nil {
		return result, failure("08P01", "a fragment's text cannot be parsed: %s", request.Query)
	}
	q, err := s.planDuck(ctx, request.Query, tree, v)
	if err != nil {
		return result, withoutPosition(err)
	}
	defer q.close()
	rows, err := q.execute(ctx, v, nil)
	if err != nil {
		return result, withoutPosition(err)
	}
	defer rows.Close()
	chunks, err := e.keepResult(ctx, rows)
	if err != nil {
		return result, withoutPosition(err)
	}
	result.Chunks, result.Release = chunks, func() { e.releaseResult(chunks) }
	for _, c := range chunks {
		result.Rows += c.Rows()
	}
	result.Total = q.volume(e)
	result.Total.Rows = result.Rows
	if result.Statistics, err = descriptor.AppendSchema(nil, rows.Schema()); err != nil {
		result.Release()
		return noderpc.FragmentResult{}, err
	}
	return result, nil
}

// fragmentView is what the fragment sees: the coordinator's snapshot of the tables, and the results of earlier stages, which are
// returned, too.
func (e *Engine) fragmentView(request noderpc.FragmentRequest, payload *fragmentPayload) (*visible, []*catalog.TableVersion, error) {
	record, err := catalog.DecodeSnapshotRecord(payload.Snapshot)
	if err != nil {
		return nil, nil, err
	}
	snapshot, err := catalog.NewRemoteSnapshot(record, e.catalog, catalog.RemoteOptions{
		Version: func(record []byte) (*catalog.TableVersion, error) { return e.fragments.version(e, record) },
	})
	if err != nil {
		return nil, nil, err
	}
	v := e.visible(snapshot.Contents, newLease(snapshot))
	v.parts = map[int][]int{}
	for _, p := range payload.Parts {
		v.parts[p.Start] = p.Chunks
	}
	var made []*catalog.TableVersion
	for _, stage := range payload.Stages {
		version, err := stage.version(payload.SearchPath)
		if err != nil {
			return nil, nil, err
		}
		made = append(made, version)
	}
	v.contents = v.contents.With(made...)
	return v, made, nil
}

func (f *fragmentStage) version(searchPath []string) (*catalog.TableVersion, error) {
	columns, err := descriptor.DecodeSchema(f.Columns)
	if err != nil {
		return nil, err
	}
	chunks := make([]*catalog.Chunk, len(f.Chunks))
	for i, encoded := range f.Chunks {
		d, err := descriptor.Decode(encoded)
		if err != nil {
			return nil, fmt.Errorf("stage %s, chunk %d: %w", f.Name, i, err)
		}
		chunks[i] = chunk.New(d, encoded, nil)
	}
	return catalog.Collect(stageName(searchPath, f.Name), columns, chunks)
}

// stageName is where a stage's result is found, before anything of that name in the session's schemas.
func stageName(searchPath []string, name string) catalog.TableName {
	if len(searchPath) == 0 {
		return catalog.TableName{Name: name}
	}
	return catalog.TableName{Schema: searchPath[0], Name: name}
}

// keepResult writes rows as chunks of this node's memory that other nodes may read.
func (e *Engine) keepResult(ctx context.Context, rows *Rows) ([]*catalog.Chunk, error) {
	target := e.target(catalog.TableName{Name: fragmentOwner}, nullable(rows.Schema()))
	target.Owner = fragmentOwner
	w := ingest.NewWriter(target)
	defer w.Abort()
	for {
		batch, err := rows.Next(ctx)
		if isEnd(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		err = w.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return nil, err
		}
	}
	chunks, err := w.Finish(ctx)
	if err != nil || len(chunks) == 0 {
		return nil, err
	}
	if err := e.node.homes.Publish(extentsOf(chunks)...); err != nil {
		return nil, errors.Join(err, target.Discard(chunks))
	}
	return chunks, nil
}

func (e *Engine) releaseResult(chunks []*catalog.Chunk) {
	if len(chunks) == 0 {
		return
	}
	if err := e.node.homes.Retire(extentsOf(chunks)...); err != nil {
		e.config.Log.Warn("release the result of a fragment", "error", err)
	}
}

func extentsOf(chunks []*catalog.Chunk) (ids []catalog.ExtentID) {
	for _, c := range chunks {
		ids = append(ids, c.Extents()...)
	}
	return ids
}

// nullable is the schema with every column nullable, as those of a query's result are.
func nullable(schema *arrow.Schema) *arrow.Schema {
	fields := schema.Fields()
	for i := range fields {
		fields[i].Nullable = true
	}
	return arrow.NewSchema(fields, nil)
}

// volume is how much of the tables' chunks a finished query has read, on this node and on others: whole columns of
// chunks, as they lie in memory.
func (q *query) volume(e *Engine) (p noderpc.FragmentProgress) {
	for _, t := range q.scans {
		chunks, err := e.locations(context.Background(), t.facts.version)
		if err != nil {
			continue // its pages were read before; if they are gone from the cache and the store, nobody needs the figure
		}
		for _, i := range t.keep {
			switch {
			case i >= len(chunks): // a stage's result, or rows of the session's own
			case e.lendsItself(chunks[i].region):
				p.BytesLocal += chunks[i].bytes
			default:
				p.BytesRemote += chunks[i].bytes
			}
		}
	}
	return p
}
