package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
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
	// Shuffle has the result written in partitions.
	Shuffle *distribute.Shuffle `json:",omitempty"`
}

type fragmentPart struct {
	Start  int
	Chunks []int
}

// fragmentStage is the result of other fragments, or a partition of it: a HugeTable in no catalog.
type fragmentStage struct {
	Name    string
	Columns []byte   // as descriptor.AppendSchema writes them
	Chunks  [][]byte // descriptors
	part    bool     // it is one partition; for who asks
}

// fragmentReport is what engines tell each other of a fragment's result beside its chunks. It comes from outside.
type fragmentReport struct {
	Columns []byte // as descriptor.AppendSchema writes them
	// Partitions says of how many of the chunks, which come in that order, each partition consists; nil: there are none.
	Partitions []int `json:",omitempty"`
	fragmentMeasures
}

// fragmentOwner is whose quota results of fragments count against.
const fragmentOwner = "csm.fragment"

// fragments runs parts of other nodes' queries.
type fragments struct{ engine *Engine }

// Run implements noderpc.Fragments.
func (f fragments) Run(ctx context.Context, _ noderpc.Peer, request noderpc.FragmentRequest, _ func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
	e := f.engine
	ctx, leave, err := e.life.Call(ctx)
	if err != nil {
		return noderpc.FragmentResult{}, err
	}
	defer leave()
	e.config.Fault.At(faults.FragmentAccepted)
	result, err := e.runFragment(ctx, request)
	if err != nil && errors.Is(e.life.CauseOf(err), lifetime.ErrClosed) {
		err = lifetime.Closed // nothing is wrong with the query: another node can run it
	}
	if release := result.Release; release != nil {
		result.Release = func() {
			if e.life.EnterToClose() { // otherwise it went with the node
				defer e.life.Leave()
				release()
			}
		}
	}
	return result, err
}

// runFragment runs a part of a query; its result lies in this node's memory until it is released.
func (e *Engine) runFragment(ctx context.Context, request noderpc.FragmentRequest) (result noderpc.FragmentResult, err error) {
	holder := e.node.Hold("fragment of a query")
	ctx = custody.With(ctx, holder)
	defer func() {
		if err != nil {
			e.node.LetGo(holder)
		}
	}()
	payload, err := e.fragments.payload(e, request.Payload)
	if err != nil {
		return result, err
	}
	args, err := argument.Decode(request.Parameters)
	if err != nil {
		return result, err
	}
	key, err := payload.key(request)
	if err != nil {
		return result, err
	}
	s, err := e.fragments.session(e, key)
	if err != nil {
		return result, err
	}
	defer func() {
		e.fragments.done(s, err)
		e.counts.fragment(result.Total, err)
	}()
	if err := s.life.Enter(); err != nil {
		return result, err
	}
	defer s.life.Leave()
	defer s.conn.Hear(ctx)()
	started := time.Now()
	if err := s.settle(payload.SearchPath, request.Settings); err != nil {
		return result, err
	}
	v, made, err := s.fragmentView(payload)
	if err != nil {
		return result, err
	}
	defer e.facts.Forget(made...)
	defer v.release()
	q, err := s.planFragment(ctx, request.Query, key, v)
	if err != nil {
		return result, dialect.WithoutPosition(err)
	}
	defer func() {
		if err != nil {
			q.close()
		} else {
			s.keepPlan(q)
		}
	}()
	rows, err := q.execute(ctx, v, args)
	if err != nil {
		return result, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	report := fragmentReport{}
	columns := nullable(ingest.LogicalSchema(rows.Schema()))
	if report.Columns, err = descriptor.AppendSchema(nil, columns); err != nil {
		return result, err
	}
	if result.Chunks, report.Partitions, err = e.keepResult(ctx, rows, columns, payload.Shuffle); err != nil {
		return result, dialect.WithoutPosition(err)
	}
	for _, c := range result.Chunks {
		result.Rows += c.Rows()
	}
	result.Total = noderpc.FragmentProgress{Rows: result.Rows, BytesLocal: rows.volume.Local.Load(), BytesRemote: rows.volume.Remote.Load()}
	report.fragmentMeasures = q.measures(rows.volume, time.Since(started))
	if result.Statistics, err = json.Marshal(report); err != nil {
		e.releaseResult(result.Chunks)
		return noderpc.FragmentResult{}, err
	}
	e.config.Fault.At(faults.FragmentPublished)
	chunks := result.Chunks
	result.Release = func() {
		e.releaseResult(chunks)
		e.node.LetGo(holder)
	}
	return result, nil
}

// key tells fragments apart whose plans differ; of results, which are others each time, only the columns matter. None has one of a
// statement that is to be planned anew.
func (p *fragmentPayload) key(request noderpc.FragmentRequest) (string, error) {
	if without, _ := optimization.Parse(request.Settings[disableSetting]); request.Settings[planCacheMode] == planCacheCustom || without.Has(optimization.KeptPlans) {
		return "", nil
	}
	payload := request.Payload
	if len(p.Stages) > 0 {
		same := *p
		same.Stages = slices.Clone(p.Stages)
		for i := range same.Stages {
			same.Stages[i].Chunks = nil
		}
		var err error
		if payload, err = json.Marshal(same); err != nil {
			return "", err
		}
	}
	settings := request.Settings
	parts := []string{setting.Meaning(settings) + settings[zoneSetting], settings[verifySetting], settings[disableSetting]}
	return strings.Join(append(parts, request.Query, string(payload)), "\x00"), nil
}

func (s *Session) planFragment(ctx context.Context, text, key string, v *visible) (*query, error) {
	if q := s.takePlan(key, v); q != nil {
		if len(v.results) == 0 || q.follow(ctx, v) {
			return q, nil
		}
		q.close()
	}
	tree := dialect.TreeOf(text)
	if tree == nil {
		return nil, sqlerror.New("08P01", "a fragment's text cannot be parsed: %s", text)
	}
	q, err := s.planDuck(ctx, text, tree, v)
	if err == nil && q.lasts {
		q.key = key
	}
	return q, err
}

// settle gives the session of a fragment the settings of the statement's.
func (s *Session) settle(searchPath []string, settings map[string]string) error {
	s.settings.searchPath = searchPath
	s.settings.put(disableSetting, settings[disableSetting])
	if err := s.verifyAs(settings[verifySetting]); err != nil {
		return err
	}
	before := maps.Clone(s.settings.values)
	if err := setting.ReadMeaning(s.settings.values, settings); err != nil {
		return err
	}
	if zone := settings[zoneSetting]; zone != "" {
		s.settings.put(zoneSetting, zone)
	}
	if err := s.tellDuckDB(before); err != nil {
		s.settings.values = before
		return sqlerror.New("22023", "invalid settings of a fragment: %v", err)
	}
	return nil
}

// verifyAs has a fragment's reads compared as the statement's session wants it, if that is stricter than this node is.
func (s *Session) verifyAs(wanted string) error {
	own := s.engine.reader.Verification()
	s.settings.put(verifySetting, settingOf(own))
	if wanted == "" {
		return nil // its node knows no such setting
	}
	v, err := verificationOf(wanted, VerifyOff)
	if err == nil && own.Laxer(v) {
		s.settings.put(verifySetting, settingOf(v))
	}
	return err
}

// zoneSetting changes what a query gives; beside it, those that setting.Meaning tells apart do.
const zoneSetting = "timezone"

// fragmentView is what the fragment sees: the coordinator's snapshot of the tables, and the results of earlier stages, which are
// returned, too.
func (s *Session) fragmentView(payload *knownPayload) (*visible, []*catalog.TableVersion, error) {
	v := s.seeing(payload.snapshot.Contents, lease.New(payload.snapshot, nil), nil)
	v.parts, v.results = map[int][]int{}, map[*catalog.TableVersion]bool{}
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
		v.results[version] = true
	}
	if len(made) > 0 {
		v.contents = v.contents.With(made...)
	}
	return v, made, nil
}

func (f *fragmentStage) version(searchPath []string) (*catalog.TableVersion, error) {
	columns, err := descriptor.DecodeSchema(f.Columns)
	if err != nil {
		return nil, err
	}
	chunks := make([]*catalog.Chunk, len(f.Chunks))
	decoder := descriptor.Decoder{Expected: len(f.Chunks)} // they have one schema
	for i, encoded := range f.Chunks {
		d, err := decoder.Decode(encoded)
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

// keepResult writes rows as chunks of this node's memory that other nodes may read; if shuffled, in partitions, of which it counts the
// chunks.
//
// The memory is the writer's and not that of the node that will read: a partition's bytes cross the fabric once in either case, but
// to write into another's memory takes a grant, a seal and a publication by message for each pair of nodes, where messages are to grow with
// the nodes (D6 of exec/plan/distribute). And a result that lies where it was made is given back, if anything fails, by the one node that
// knows of it; and another node may read a partition than the one it was meant for.
func (e *Engine) keepResult(ctx context.Context, rows *Rows, columns *arrow.Schema, shuffle *distribute.Shuffle) (chunks []*catalog.Chunk, partitions []int, err error) {
	target := e.upkeep.Target(ctx, catalog.TableName{Name: fragmentOwner}, columns)
	target.Owner, target.Intermediate = fragmentOwner, true
	if shuffle != nil {
		if err := partitioned(&target, shuffle); err != nil {
			return nil, nil, err
		}
	}
	w := ingest.NewWriter(target)
	defer w.Abort()
	for batches := 0; ; {
		batch, err := rows.Next(ctx)
		if isEnd(err) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		err = w.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return nil, nil, err
		}
		if batches++; batches == 1 {
			e.config.Fault.At(faults.FragmentHalfDone)
		}
	}
	chunks, partitions, err = w.FinishParts(ctx)
	if err != nil || len(chunks) == 0 {
		return nil, partitions, err
	}
	if shuffle != nil {
		e.config.Fault.At(faults.PartitionsSealed)
	}
	if err := e.node.Homes.Publish(member.ExtentsOf(chunks)...); err != nil {
		return nil, nil, errors.Join(err, target.Discard(chunks))
	}
	return chunks, partitions, nil
}

// partitionsMax bounds what another node may ask for.
const partitionsMax = 1 << 12

// partitioned makes a target one in partitions, all of them in its space.
func partitioned(target *ingest.Target, by *distribute.Shuffle) error {
	if by.Partitions < 1 || by.Partitions > partitionsMax || len(by.Columns) == 0 {
		return sqlerror.New("08P01", "a fragment is to be written in %d partitions by %d columns", by.Partitions, len(by.Columns))
	}
	for _, c := range by.Columns {
		if c < 0 || c >= target.Schema.NumFields() {
			return sqlerror.New("08P01", "a fragment is to be written in partitions by column %d, and has %d", c, target.Schema.NumFields())
		}
		if err := ingest.CanHash(target.Schema.Field(c)); err != nil {
			return err
		}
	}
	target.Hash = &ingest.Hash{Columns: by.Columns, Spaces: slices.Repeat([]catalog.Space{target.Space}, by.Partitions)}
	return nil
}

func (e *Engine) releaseResult(chunks []*catalog.Chunk) {
	if len(chunks) == 0 {
		return
	}
	ids := member.ExtentsOf(chunks)
	if err := e.node.Homes.Retire(ids...); err != nil {
		e.config.Log.Warn("release the result of a fragment", "error", err)
	}
	e.node.Book().GivenBack(ids...)
	e.config.Fault.At(faults.FragmentReleased)
}

// nullable is the schema with every column nullable, as those of a query's result are.
func nullable(schema *arrow.Schema) *arrow.Schema {
	fields := schema.Fields()
	for i := range fields {
		fields[i].Nullable = true
	}
	return arrow.NewSchema(fields, nil)
}
