package fragment

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Config is the node that runs fragments.
type Config struct {
	Node   *member.Node
	Keeper *upkeep.Keeper
	Facts  *facts.Cache
	Life   *lifetime.Lifetime
	Texts  Texts
	// Count is called for each fragment that was run, or failed.
	Count func(noderpc.FragmentProgress, error)
	Log   *slog.Logger
	Fault faults.Hook
}

// Texts runs the texts of fragments.
type Texts interface {
	// Execute plans a task's text and begins to run it. Its errors have no positions.
	Execute(ctx context.Context, t *Task) (Rows, error)
}

// Task is a fragment that is to run.
type Task struct {
	Text       string
	Key        string // of its plan, see Payload; empty: it is replanned
	SearchPath []string
	Settings   map[string]string
	Arguments  []any
	Snapshot   *catalog.Snapshot // the coordinator's; it holds no lease
	Contents   *catalog.Contents // of the snapshot and of Results
	Parts      map[int][]int     // chunks of the occurrences that are not read whole, by where their names stand
	Results    map[*catalog.TableVersion]bool
}

// Rows are those of a fragment that runs.
type Rows interface {
	Schema() *arrow.Schema
	// Next gives the next batch, which the caller releases, or io.EOF.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// Measures are those of rows that were read to their end.
	Measures() (noderpc.FragmentProgress, Measures)
	// Close ends the fragment; if it has not failed, its plan serves the next one of its key.
	Close(failed error)
}

// Server runs fragments. It remembers the versions of tables, with the facts that planning derived of them, because
// every fragment brings them as records. Safe for concurrent use.
type Server struct {
	Config

	mu       sync.Mutex                       // guards the rest
	versions map[string]*catalog.TableVersion // by record
	known    map[string]*known                // by what was sent
}

// New makes one.
func New(c Config) *Server { return &Server{Config: c} }

// known is a fragment's payload, and what the fragment sees by it. Immutable.
type known struct {
	Payload
	snapshot *catalog.Snapshot // of tables; it holds no lease
}

const (
	// versionsMax bounds the versions; beyond it all are forgotten.
	versionsMax = 256
	// payloadsMax bounds the payloads, and payloadBytes those that are worth it; beyond it all are forgotten.
	payloadsMax, payloadBytes = 256, 16 << 10
)

// Run implements noderpc.Fragments.
func (s *Server) Run(ctx context.Context, _ noderpc.Peer, request noderpc.FragmentRequest,
	_ func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
	ctx, leave, err := s.Life.Call(ctx)
	if err != nil {
		return noderpc.FragmentResult{}, err
	}
	defer leave()
	s.Fault.At(faults.FragmentAccepted)
	result, err := s.Here(ctx, request)
	if err != nil && errors.Is(s.Life.CauseOf(err), lifetime.ErrClosed) {
		err = lifetime.Closed // nothing is wrong with the query: another node can run it
	}
	if release := result.Release; release != nil {
		result.Release = func() {
			if s.Life.EnterToClose() { // otherwise it went with the node
				defer s.Life.Leave()
				release()
			}
		}
	}
	return result, err
}

// Here runs a fragment in a call that is inside of the engine's lifetime; its result lies in this node's memory until
// it is released.
func (s *Server) Here(ctx context.Context, request noderpc.FragmentRequest) (result noderpc.FragmentResult, err error) {
	holder := s.Node.Hold("fragment of a query")
	ctx = custody.With(ctx, holder)
	defer func() {
		if err != nil {
			s.Node.LetGo(holder)
		}
	}()
	payload, err := s.payload(request.Payload)
	if err != nil {
		return result, err
	}
	task := &Task{Text: request.Query, Settings: request.Settings}
	if task.Arguments, err = argument.Decode(request.Parameters); err != nil {
		return result, err
	}
	if task.Key, err = payload.key(request); err != nil {
		return result, err
	}
	defer func() { s.Count(result.Total, err) }()
	made, err := payload.see(task)
	if err != nil {
		return result, err
	}
	defer s.Facts.Forget(made...)
	rows, err := s.Texts.Execute(ctx, task)
	if err != nil {
		return result, err
	}
	defer func() { rows.Close(err) }()
	report := Report{}
	columns := nullable(ingest.LogicalSchema(rows.Schema()))
	if report.Columns, err = descriptor.AppendSchema(nil, columns); err != nil {
		return result, err
	}
	if result.Chunks, report.Partitions, err = s.keep(ctx, rows, columns, payload.Shuffle); err != nil {
		return result, dialect.WithoutPosition(err)
	}
	for _, c := range result.Chunks {
		result.Rows += c.Rows()
	}
	result.Total, report.Measures = rows.Measures()
	result.Total.Rows = result.Rows
	if result.Statistics, err = json.Marshal(report); err != nil {
		s.release(result.Chunks)
		return noderpc.FragmentResult{}, err
	}
	s.Fault.At(faults.FragmentPublished)
	chunks := result.Chunks
	result.Release = func() {
		s.release(chunks)
		s.Node.LetGo(holder)
	}
	return result, nil
}

// payload decodes a fragment's payload. It returns the one that was decoded from the same bytes before, unless it has
// results, which are others each time.
func (s *Server) payload(encoded []byte) (*known, error) {
	s.mu.Lock()
	k := s.known[string(encoded)]
	s.mu.Unlock()
	if k != nil {
		return k, nil
	}
	k = &known{}
	if err := json.Unmarshal(encoded, &k.Payload); err != nil {
		return nil, sqlerror.New("08P01", "a fragment's payload makes no sense: %v", err)
	}
	record, err := catalog.DecodeSnapshotRecord(k.Snapshot)
	if err != nil {
		return nil, err
	}
	k.snapshot, err = catalog.NewRemoteSnapshot(record, s.Node.Catalog, catalog.RemoteOptions{Version: s.version})
	if err != nil || len(k.Stages) > 0 || len(encoded) > payloadBytes {
		return k, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= payloadsMax {
		s.known = map[string]*known{}
	}
	s.known[string(encoded)] = k
	return k, nil
}

// version gives the version whose record this is: the very one that was given for it before, or that the catalog has.
func (s *Server) version(record []byte) (*catalog.TableVersion, error) {
	s.mu.Lock()
	v := s.versions[string(record)]
	s.mu.Unlock()
	if v != nil {
		return v, nil
	}
	v, err := s.Node.Catalog.Version(record)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.versions == nil || len(s.versions) >= versionsMax {
		s.versions = map[string]*catalog.TableVersion{}
	}
	s.versions[string(record)] = v
	return v, nil
}
