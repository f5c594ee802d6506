package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// listener is a session whose client can be notified.
type listener struct {
	t *testing.T
	*engine.Session
	notified chan struct{}
}

func listening(t *testing.T, e *engine.Engine) *listener {
	t.Helper()
	l := &listener{t: t, notified: make(chan struct{}, 1)}
	s, err := e.Session(engine.SessionOptions{Notified: func() {
		select {
		case l.notified <- struct{}{}:
		default:
		}
	}})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	l.Session = s
	return l
}

// hears gives what the session has heard by now, as "channel payload".
func (l *listener) hears() []string {
	list := []string{}
	for _, n := range l.Heard(1 << 20) {
		list = append(list, n.Channel+" "+n.Payload)
	}
	return list
}

func (l *listener) channels() []string {
	return rows(l.t, l.Session, "SELECT * FROM pg_listening_channels()")
}

// What a channel reports: the number of each new version of the table that has the name, and that nothing has it.
func TestListen(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s, l := session(t, e), listening(t, e)
	exec(t, s, "CREATE TABLE t (a int)")
	require.Equal(t, "LISTEN", exec(t, l.Session, "LISTEN csm_table_t").Tag)
	exec(t, s, "INSERT INTO t VALUES (1)")
	<-l.notified
	require.Equal(t, []string{"csm_table_t 2"}, l.hears())
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT max(version) FROM csm.versions WHERE name = 't'"))
	exec(t, s, "INSERT INTO t VALUES (2); DELETE FROM t; TRUNCATE t; INSERT INTO t VALUES (5)")
	require.Equal(t, []string{"csm_table_t 6"}, l.hears(), "the last")
	require.Empty(t, l.hears(), "once")
	exec(t, s, "ALTER TABLE t RENAME TO u")
	require.Equal(t, []string{"csm_table_t gone"}, l.hears())
	exec(t, s, "INSERT INTO u VALUES (1)")
	require.Empty(t, l.hears())
	exec(t, s, "CREATE TABLE t (a int)")
	require.Equal(t, []string{"csm_table_t 1"}, l.hears(), "it has the name")
	exec(t, s, "BEGIN; ALTER TABLE t RENAME TO old; ALTER TABLE u RENAME TO t; COMMIT")
	require.Equal(t, []string{"csm_table_t 9"}, l.hears())
	exec(t, s, "DROP TABLE t")
	require.Equal(t, []string{"csm_table_t gone"}, l.hears())

	exec(t, l.Session, "LISTEN csm_table_old")
	exec(t, l.Session, "INSERT INTO old VALUES (1)")
	require.Equal(t, []string{"csm_table_old 3"}, l.hears(), "its own, too, as soon as they are committed")
	exec(t, s, "INSERT INTO old VALUES (1)")
	exec(t, l.Session, "UNLISTEN csm_table_old")
	require.Empty(t, l.hears())
	exec(t, s, "INSERT INTO old VALUES (1)")
	require.Empty(t, l.hears())
	require.Equal(t, []string{"csm_table_t"}, l.channels())
}

// Which channel is of which table.
func TestChannels(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s, l := session(t, e), listening(t, e)
	exec(t, s, `CREATE TABLE t (a int); CREATE SCHEMA x; CREATE SCHEMA x_y; CREATE TABLE x.y_z (a int);
		CREATE TABLE x_y.z (a int); CREATE TABLE x.t (a int); CREATE TABLE "A.b" (a int); CREATE VIEW v AS SELECT * FROM t; CREATE SEQUENCE q;
		CREATE MATERIALIZED VIEW m AS SELECT * FROM t`)
	exec(t, l.Session, "CREATE TEMP TABLE mine (a int)")
	for channel, state := range map[string]string{
		"csm_table_t": "", "csm_table_public_t": "", `"csm_table_public.t"`: "", "csm_table_x_t": "",
		`"csm_table_x.y_z"`: "", `"csm_table_x_y.z"`: "", "csm_table_x_y_z": "42P09",
		`"csm_table_A.b"`: "", `"csm_table_public_A.b"`: "42P01", "CSM_TABLE_T": "", `"CSM_TABLE_T"`: "0A000",
		"csm_table_": "0A000", "x": "0A000", "csm_table_v": "42809", "csm_table_q": "42809", "csm_table_mine": "0A000",
		"csm_table_nothing": "42P01", "csm_table_t_": "42P01", "csm_table__t": "42P01", "csm_table_csm_versions": "42P01",
		"csm_table_m": "",
	} {
		_, err := l.Exec(t.Context(), "LISTEN "+channel)
		if state == "" {
			require.NoError(t, err, channel)
		} else {
			require.Equal(t, state, sqlState(err), channel)
		}
	}
	exec(t, s, "INSERT INTO x.t VALUES (1)")
	require.Equal(t, []string{"csm_table_x_t 2"}, l.hears())
	exec(t, l.Session, "SET search_path = x; LISTEN csm_table_t")
	exec(t, s, "INSERT INTO x.t VALUES (1)")
	require.Equal(t, []string{"csm_table_x_t 3"}, l.hears(), "who listens already listens to what was meant then")
	exec(t, l.Session, "UNLISTEN csm_table_t; LISTEN csm_table_t")
	exec(t, s, "INSERT INTO x.t VALUES (1)")
	require.ElementsMatch(t, []string{"csm_table_x_t 4", "csm_table_t 4"}, l.hears())
	exec(t, s, "REFRESH MATERIALIZED VIEW m; INSERT INTO t VALUES (1); REFRESH MATERIALIZED VIEW m")
	require.Contains(t, strings.Join(l.hears(), ","), "csm_table_m ")
	for _, refused := range []string{"NOTIFY csm_table_t", "SELECT pg_notify('csm_table_t', '1')"} {
		_, err := l.Exec(t.Context(), refused)
		require.Equal(t, "0A000", sqlState(err), refused)
	}
	_, err := s.Exec(t.Context(), "LISTEN csm_table_t")
	require.Equal(t, "0A000", sqlState(err), "there is no client to notify")
}

// LISTEN and UNLISTEN count when they are committed, and not if they are taken back.
func TestListenIsTransactional(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s, l := session(t, e), listening(t, e)
	exec(t, s, "CREATE TABLE t (a int); CREATE TABLE u (a int)")
	begin := func(sql string) { exec(t, l.Session, "BEGIN; "+sql) }
	begin("LISTEN csm_table_t; INSERT INTO t VALUES (1)")
	exec(t, s, "INSERT INTO t VALUES (1)")
	require.Empty(t, l.channels())
	require.Empty(t, l.hears())
	exec(t, l.Session, "ROLLBACK; BEGIN; COMMIT")
	require.Empty(t, l.channels(), "the next transaction has said nothing")
	begin("LISTEN csm_table_t; SAVEPOINT a; LISTEN csm_table_u; ROLLBACK TO a; COMMIT")
	require.Equal(t, []string{"csm_table_t"}, l.channels())
	require.Empty(t, l.hears(), "what was committed before it listened")
	begin("UNLISTEN *; LISTEN csm_table_u; UNLISTEN csm_table_u")
	exec(t, s, "INSERT INTO t VALUES (1)")
	require.Equal(t, []string{"csm_table_t 3"}, l.hears())
	exec(t, l.Session, "COMMIT")
	require.Empty(t, l.channels())
	begin("LISTEN csm_table_t")
	_, err := l.Exec(t.Context(), "SELECT * FROM nowhere")
	require.Error(t, err)
	_, err = l.Exec(t.Context(), "LISTEN csm_table_t")
	require.Equal(t, "25P02", sqlState(err))
	exec(t, l.Session, "COMMIT; BEGIN; COMMIT")
	require.Empty(t, l.channels(), "it was rolled back")

	exec(t, s, "CREATE TABLE k (a int PRIMARY KEY); INSERT INTO k VALUES (1)")
	exec(t, l.Session, "BEGIN ISOLATION LEVEL SERIALIZABLE; LISTEN csm_table_t")
	exec(t, l.Session, "INSERT INTO k SELECT count(*) + 10 FROM t")
	exec(t, s, "INSERT INTO t VALUES (1)")
	_, err = l.Exec(t.Context(), "COMMIT")
	require.Equal(t, "40001", sqlState(err))
	exec(t, l.Session, "BEGIN; COMMIT")
	require.Empty(t, l.channels(), "the commit has failed")

	exec(t, l.Session, "BEGIN READ ONLY; LISTEN csm_table_t; COMMIT; LISTEN csm_table_t")
	require.Equal(t, []string{"csm_table_t"}, l.channels())
	l.BeginImplicit()
	exec(t, l.Session, "LISTEN csm_table_u")
	require.NoError(t, l.EndImplicit(t.Context(), true))
	require.Equal(t, []string{"csm_table_t"}, l.channels())
	l.BeginImplicit()
	exec(t, l.Session, "LISTEN csm_table_u")
	require.NoError(t, l.EndImplicit(t.Context(), false))
	require.Equal(t, []string{"csm_table_t", "csm_table_u"}, l.channels())
	exec(t, l.Session, "DISCARD ALL")
	require.Empty(t, l.channels())
	exec(t, s, "INSERT INTO t VALUES (1)")
	require.Empty(t, l.hears())
}

// A session that listens is bounded, and charged for it.
func TestListenIsBounded(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s, l := session(t, e), listening(t, e)
	var create, listen strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&create, "CREATE TABLE t%d (a int);", i)
		if i < 1000 {
			fmt.Fprintf(&listen, "LISTEN csm_table_t%d;", i)
		}
	}
	exec(t, s, "BEGIN;"+create.String()+"COMMIT")
	exec(t, l.Session, listen.String())
	require.Equal(t, []string{"true"}, rows(t, s, "SELECT bytes > 1000000 FROM csm.memory WHERE kind = 'listening'"))
	_, err := l.Exec(t.Context(), "LISTEN csm_table_t1000")
	require.Equal(t, "53400", sqlState(err))
	exec(t, l.Session, "LISTEN csm_table_t5; UNLISTEN csm_table_t7; LISTEN csm_table_t1000")
	exec(t, s, "BEGIN; INSERT INTO t1 VALUES (1); INSERT INTO t1000 VALUES (1); INSERT INTO t7 VALUES (1); COMMIT")
	require.ElementsMatch(t, []string{"csm_table_t1 2", "csm_table_t1000 2"}, l.hears())
	exec(t, l.Session, "UNLISTEN *")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM csm.memory WHERE kind = 'listening'"))
}

// Writers go on beside a thousand sessions that listen, are notified and never look; each hears of the last version.
func TestAThousandListeners(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (a int)")
	var listeners []*listener
	for range 1000 {
		l := listening(t, e)
		exec(t, l.Session, "LISTEN csm_table_t")
		listeners = append(listeners, l)
	}
	var writing sync.WaitGroup
	for range 4 {
		own := session(t, e)
		writing.Go(func() {
			for range 50 {
				if _, err := own.Exec(t.Context(), "INSERT INTO t VALUES (1)"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	last := "csm_table_t " + rows(t, s, `SELECT max(version) FROM csm.versions WHERE name = 't'`)[0]
	for _, l := range listeners {
		require.Equal(t, []string{last}, l.hears())
	}
}

// Nodes hear of each other's commits.
func TestListenInACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, l := c.session(0), listening(t, c.nodes[1])
	exec(t, s, "CREATE TABLE t (a int)")
	exec(t, l.Session, "LISTEN csm_table_t")
	exec(t, s, "INSERT INTO t VALUES (1)")
	<-l.notified
	require.Equal(t, []string{"csm_table_t 2"}, l.hears())
	exec(t, l.Session, "INSERT INTO t VALUES (1)")
	require.Equal(t, []string{"csm_table_t 3"}, l.hears())
}
