package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/fragment"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// fragmentSessions are sessions that have run a part of another node's query and wait for the next one, because it takes
// DuckDB as long to open a session as to run a small fragment: fragment.Texts. Safe for concurrent use.
type fragmentSessions struct {
	engine *Engine

	mu   sync.Mutex // guards the rest
	idle []*Session
}

// idleSessions bounds how many wait.
const idleSessions = 8

// take takes an idle one, that which keeps the plan under a key if there is one, or opens one.
func (c *fragmentSessions) take(key string) (*Session, error) {
	c.mu.Lock()
	for n := len(c.idle); n > 0; n = len(c.idle) {
		i := max(slices.IndexFunc(c.idle, func(s *Session) bool { return s.keptAt(key, DialectDuckDB) >= 0 }), 0)
		if c.idle[i].keptAt(key, DialectDuckDB) < 0 {
			i = n - 1
		}
		s := c.idle[i]
		c.idle = slices.Delete(c.idle, i, i+1)
		if s.life.Context.Err() == nil { // it goes with the engine
			c.mu.Unlock()
			return s, nil
		}
	}
	c.mu.Unlock()
	s, err := c.engine.Session(SessionOptions{User: "csm fragment"})
	if err == nil {
		s.fragment = true
	}
	return s, err
}

// done keeps a session whose fragment succeeded.
func (c *fragmentSessions) done(s *Session, failed error) {
	c.mu.Lock()
	keep := failed == nil && len(c.idle) < idleSessions
	if keep {
		c.idle = append(c.idle, s)
	}
	c.mu.Unlock()
	if !keep {
		s.Close()
	}
}

// Execute implements fragment.Texts.
func (c *fragmentSessions) Execute(ctx context.Context, t *fragment.Task) (_ fragment.Rows, err error) {
	s, err := c.take(t.Key)
	if err != nil {
		return nil, err
	}
	if err := s.life.Enter(); err != nil {
		c.done(s, err)
		return nil, err
	}
	f := &fragmentRows{sessions: c, session: s, listens: s.conn.Hear(ctx), started: time.Now()}
	defer func() {
		if err != nil {
			f.Close(err)
			err = dialect.WithoutPosition(err)
		}
	}()
	if err := s.settle(t.SearchPath, t.Settings); err != nil {
		return nil, err
	}
	f.view = s.seeing(t.Contents, lease.New(t.Snapshot, nil), nil)
	f.view.Parts, f.view.Results = t.Parts, t.Results
	if f.plan, err = s.planFragment(ctx, t.Text, t.Key, f.view); err != nil {
		return nil, err
	}
	if f.rows, err = f.plan.execute(ctx, f.view, t.Arguments); err != nil {
		return nil, err
	}
	return f, nil
}

// fragmentRows are those of a fragment that runs.
type fragmentRows struct {
	sessions *fragmentSessions
	session  *Session
	listens  func()
	started  time.Time
	view     *snapshot.View
	plan     *query // nil: it could not be planned
	rows     *Rows  // nil: it does not run
}

// Schema implements fragment.Rows.
func (f *fragmentRows) Schema() *arrow.Schema { return f.rows.schema }

// Next implements fragment.Rows.
func (f *fragmentRows) Next(ctx context.Context) (arrow.RecordBatch, error) { return f.rows.Next(ctx) }

// Measures implements fragment.Rows.
func (f *fragmentRows) Measures() (noderpc.FragmentProgress, fragment.Measures) {
	read := f.rows.volume
	m := fragment.Measures{
		Took: time.Since(f.started), ResultBytesLocal: read.ResultsLocal.Load(), ResultBytesRemote: read.ResultsRemote.Load(),
	}
	for _, t := range f.plan.scans {
		m.Scans = append(m.Scans, fragment.Scan{
			Table: t.Facts.Version.Table().Name.Name, Chunks: t.Duck.Chunks, Of: t.Available(), Result: t.Result, Keys: t.ThinnedOut(),
		})
	}
	return noderpc.FragmentProgress{BytesLocal: read.Local.Load(), BytesRemote: read.Remote.Load()}, m
}

// Close implements fragment.Rows.
func (f *fragmentRows) Close(failed error) {
	s := f.session
	if f.rows != nil {
		f.rows.close()
	}
	switch {
	case f.plan == nil:
	case failed != nil:
		f.plan.close()
	default:
		s.keepPlan(f.plan)
	}
	f.view.Release()
	f.listens()
	s.life.Leave()
	f.sessions.done(s, failed)
}

func (s *Session) planFragment(ctx context.Context, text, key string, v *snapshot.View) (*query, error) {
	if q := s.takePlan(key, v); q != nil {
		if len(v.Results) == 0 || q.follow(ctx, v) {
			return q, nil
		}
		q.close()
	}
	in := dialect.SourceOf(text)
	if in.Tree == nil {
		return nil, sqlerror.New("08P01", "a fragment's text cannot be parsed: %s", text)
	}
	q, err := s.planDuck(ctx, in, v)
	if err == nil && q.lasts {
		q.key = key
	}
	return q, err
}

// fragmentSettings are those that the nodes plan and run parts of a statement by.
func (s *Session) fragmentSettings() (map[string]string, error) {
	zone, err := s.Setting(setting.TimeZone)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{
		setting.TimeZone: zone, setting.PlanCacheMode: s.settings.Given[setting.PlanCacheMode],
		setting.Verify: configuration.VerifyWord(s.settings.Verification()), setting.Disable: s.without().String(),
	}
	setting.CopyMeaning(settings, s.settings.Given)
	return settings, nil
}

// settle gives the session of a fragment the settings of the statement's.
func (s *Session) settle(searchPath []string, settings map[string]string) error {
	s.settings.SearchPath = searchPath
	s.settings.Put(setting.Disable, settings[setting.Disable])
	if err := s.settings.VerifyAs(settings[setting.Verify]); err != nil {
		return err
	}
	before := maps.Clone(s.settings.Given)
	if err := setting.ReadMeaning(s.settings.Given, settings); err != nil {
		return err
	}
	if zone := settings[setting.TimeZone]; zone != "" {
		s.settings.Put(setting.TimeZone, zone)
	}
	if err := s.tellDuckDB(before); err != nil {
		s.settings.Given = before
		return sqlerror.New("22023", "invalid settings of a fragment: %v", err)
	}
	return nil
}
