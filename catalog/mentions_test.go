package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/mention"
)

// mentionable is all that the tables of TestMentions may mention.
func mentionable() (list []mention.Mention) {
	for n := range uint64(6) {
		for _, kind := range []mention.Kind{mention.Reference, mention.Type, mention.Sequence} {
			list = append(list, mention.Mention{Kind: kind, Number: n})
		}
		for _, schema := range mentionSchemas {
			name := catalog.TableName{Schema: schema, Name: fmt.Sprint("i", n)}
			list = append(list, mention.Mention{Kind: mention.Index, Name: name})
		}
	}
	return append(list, mention.Mention{Kind: mention.Query}, mention.Mention{Kind: mention.Deferrable})
}

var mentionSchemas = []string{"public", "other"}

// mentioning is a schema whose record mentions some of them.
func mentioning(rng *rand.Rand) *arrow.Schema {
	marks, field := map[string]string{}, map[string]string{}
	text := ""
	for range rng.IntN(4) {
		one := fmt.Sprintf(`{"name":"i%d","kind":"%s"}`, rng.IntN(6), pick(rng, []string{"i", "p", "c"}))
		if rng.IntN(2) == 0 {
			one = fmt.Sprintf(`{"name":"f","kind":"f","references":%d,"deferrable":%v}`, rng.IntN(6), rng.IntN(3) == 0)
		}
		if text != "" {
			text += ","
		}
		text += one
	}
	if text != "" {
		marks[mention.Constraints] = "[" + text + "]"
	}
	if rng.IntN(5) == 0 {
		marks[hugetable.QueryKey] = "SELECT 1"
	}
	switch rng.IntN(4) {
	case 0:
		field[mention.Domain] = fmt.Sprint(rng.IntN(6))
	case 1:
		field["csm.default"] = fmt.Sprintf("csm_nextval__of(%d) + csm_type__%d", rng.IntN(6), rng.IntN(6))
	}
	meta := arrow.MetadataFrom(marks)
	f := arrow.Field{Name: "v", Type: arrow.PrimitiveTypes.Int64, Metadata: arrow.MetadataFrom(field)}
	return arrow.NewSchema([]arrow.Field{f}, &meta)
}

// requireMentions holds what contents find by mentions against a walk over all of their tables (MN1).
func requireMentions(t require.TestingT, c *catalog.Contents, what string) {
	for _, m := range mentionable() {
		var want []catalog.TableName
		for _, v := range c.Tables() {
			if slices.Contains(mention.Of(v.Table()), m) {
				want = append(want, v.Table().Name)
			}
		}
		var got []catalog.TableName
		for _, v := range c.Mentioning(m) {
			now, ok := c.Table(v.Table().Name)
			require.True(t, ok && now == v, "%s: %v", what, m)
			got = append(got, v.Table().Name)
		}
		require.Equal(t, want, got, "%s: %v", what, m)
	}
	for _, schema := range append(mentionSchemas, "none", "") {
		var want []*catalog.TableVersion
		for _, v := range c.Tables() {
			if v.Table().Name.Schema == schema {
				want = append(want, v)
			}
		}
		require.Equal(t, want, c.TablesIn(schema), what)
	}
}

// TestMentions: whatever transactions of several nodes do to tables, also between savepoints and in vain, every state
// finds by a mention what a walk over its tables finds (MN1), and so does a borrower.
func TestMentions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 3))
		manyMentions(rt, rng, rapid.IntRange(5, 40).Draw(rt, "steps"))
	})
}

func manyMentions(t require.TestingT, rng *rand.Rand, steps int) {
	r := newRack(t, 1+rng.IntN(3))
	defer r.close()
	snapshot := func(n *rackNode) *catalog.Snapshot {
		s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
		require.NoError(t, err)
		requireMentions(t, s.Contents, n.name)
		return s
	}
	s := snapshot(r.nodes[0])
	tx := r.nodes[0].catalog.Begin(s)
	require.NoError(t, tx.CreateSchema("other"))
	require.NoError(t, tx.Commit(ctx))
	s.Close()
	for range steps {
		n := pick(rng, r.nodes)
		s := snapshot(n)
		tx := n.catalog.Begin(s)
		var marks []catalog.Savepoint
		for range 1 + rng.IntN(6) {
			switch rng.IntN(6) {
			case 0:
				marks = append(marks, tx.Savepoint())
			case 1:
				if len(marks) > 0 {
					i := rng.IntN(len(marks))
					require.NoError(t, tx.RollbackTo(marks[i], rng.IntN(2) == 0))
					marks = marks[:i+1]
				}
			}
			changeMentions(t, rng, tx)
			requireMentions(t, tx.Contents(), "a transaction of "+n.name)
		}
		if other := pick(rng, r.nodes); rng.IntN(3) == 0 { // a commit of another one before, with which this one may conflict
			s := snapshot(other)
			before := other.catalog.Begin(s)
			changeMentions(t, rng, before)
			require.NoError(t, before.Commit(ctx))
			s.Close()
		}
		if rng.IntN(4) == 0 {
			tx.Rollback()
		} else if err := tx.Commit(ctx); err != nil {
			require.ErrorIs(t, err, catalog.ErrConflict)
		}
		s.Close()
		if rng.IntN(10) == 0 {
			n.kill()
			n.start()
		}
	}
	for _, n := range r.nodes {
		s, err := n.catalog.Snapshot(ctx, catalog.Holder{Domain: "borrower", TTL: 1e9})
		require.NoError(t, err)
		record, err := n.catalog.Record(s)
		require.NoError(t, err)
		remote, err := catalog.NewRemoteSnapshot(record, n.catalog, catalog.RemoteOptions{})
		require.NoError(t, err)
		requireMentions(t, remote.Contents, "a borrower of "+n.name)
		s.Close()
	}
}

// changeMentions does one thing to a table, or to a schema of them.
func changeMentions(t require.TestingT, rng *rand.Rand, tx *catalog.Transaction) {
	free := func(schema string) (name catalog.TableName, ok bool) {
		name = catalog.TableName{Schema: schema, Name: fmt.Sprint("t", rng.IntN(8))}
		_, taken := tx.Contents().Table(name)
		return name, !taken && tx.Contents().HasSchema(schema)
	}
	tables := tx.Contents().Tables()
	op := rng.IntN(12)
	if len(tables) == 0 && op > 3 {
		op = 0
	}
	switch {
	case op < 4:
		if name, ok := free(pick(rng, mentionSchemas)); ok {
			_, err := tx.CreateTable(ctx, name, mentioning(rng), catalog.TableOptions{})
			require.NoError(t, err)
		}
	case op < 7:
		require.NoError(t, tx.Redeclare(pick(rng, tables).Table().Name, mentioning(rng)))
	case op < 9:
		if name, ok := free(pick(rng, mentionSchemas)); ok {
			require.NoError(t, tx.RenameTable(pick(rng, tables).Table().Name, name))
		}
	case op == 9 && tx.Contents().HasSchema("other"):
		require.NoError(t, tx.DropSchema("other", true))
	case op == 9:
		require.NoError(t, tx.CreateSchema("other"))
	default:
		require.NoError(t, tx.DropTable(pick(rng, tables).Table().Name))
	}
}
