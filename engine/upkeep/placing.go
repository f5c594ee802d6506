package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/spelling"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Where the chunks of a table go. The table's record says it in words (package placement); here they get their meaning:
//
//	local        this node's memory; of a node that is drained, the others'
//	node(a)      a's
//	rows         one chunk after the other to the nodes that are there, from the one on that has least of the table
//	hash(c)      every row to the node that its values say; the list of nodes is fixed on record when the table is made

// ResolvePlacement reads what a user wrote for a table of these columns, checks what it names, and gives what goes
// on record: empty is local.
func (k *Keeper) ResolvePlacement(text string, columns *arrow.Schema) (string, error) {
	p, err := placement.Parse(text)
	if err != nil || p.Kind == placement.Local {
		return "", err
	}
	if k.node == nil || k.node.Self == nil {
		return "", sqlerror.New("55000", "placement %s: this node is alone, it belongs to no cluster", p).
			WithHint("Leave the placement out, or start the node with --cluster-init or --etcd.")
	}
	if p.Dividing {
		return "", sqlerror.New("22023", "placement %s: a table is so while it is divided", p).
			WithHint("Without the word dividing it will be, or will go on to be.")
	}
	for i, name := range p.Columns {
		at := ingest.Index(columns, name)
		if at < 0 {
			return "", sqlerror.New("42703", "placement %s: column %q does not exist", p, name)
		}
		if err := ingest.CanHash(columns.Field(at)); err != nil {
			return "", err
		}
		p.Columns[i] = columns.Field(at).Name
	}
	if p.Kind == placement.Hash && len(p.Nodes) == 0 {
		p.Nodes = k.node.Online()
	}
	if _, err := k.node.Takers(p); err != nil {
		return "", err
	}
	return p.String(), nil
}

// tableParameters are what WITH (…) and SET (…) may say of a table.
var tableParameters = []string{"placement", "replicas", "retention", "retained_versions"}

// UnknownParameter is the error about one that they may not, with the one that was probably meant.
func UnknownParameter(name string) error {
	e := sqlerror.New("22023", "unrecognized parameter %q", name)
	if near := spelling.Nearest(name, tableParameters); near != "" {
		return e.WithHint(fmt.Sprintf("Did you mean %q?", near))
	}
	return e.WithHint("There are placement, replicas, retention and retained_versions.")
}

// Parameters finds the placement and the number of replicas in the WITH (…) of a CREATE TABLE.
func Parameters(with string) (text string, replicas int, err error) {
	list, err := statement.Storage(with)
	if err != nil {
		return "", 0, err
	}
	for _, o := range list {
		switch o.Name {
		case "placement":
			text = o.Value
		case "replicas":
			if replicas, err = ReplicasIn(o.Value); err != nil {
				return "", 0, err
			}
		case "retention", "retained_versions": // says package former
		case "fillfactor":
			if o.Value != "100" { // chunks are always full
				return "", 0, sqlerror.New("22023", "fillfactor = %s: chunks are always full", o.Value).WithHint("Leave fillfactor out, or say 100.")
			}
		default:
			return "", 0, UnknownParameter(o.Name)
		}
	}
	return text, replicas, nil
}

// Declared are the options that the WITH (…) of a CREATE TABLE says of where rows lie, for a table of these columns.
func (k *Keeper) Declared(with string, columns *arrow.Schema) (options catalog.TableOptions, err error) {
	text, replicas, err := Parameters(with)
	if err != nil {
		return options, err
	}
	if options.Replicas, err = k.ResolveReplicas(replicas); err != nil {
		return options, err
	}
	options.Placement, err = k.ResolvePlacement(text, columns)
	return options, err
}

// leaveOut says how a table is written whose placement names nodes that are not there, or take no rows: without them.
func (k *Keeper) leaveOut(err error, table catalog.TableName, p placement.Placement) error {
	pgError, ok := err.(*sqlerror.Error)
	if !ok || len(p.Nodes) == 0 {
		return err
	}
	without := p
	for _, name := range p.Nodes {
		if k.node.Takes(name) != nil {
			if without, ok = without.Without(name); !ok {
				if without.Nodes = k.node.Online(); p.Kind == placement.Node && len(without.Nodes) > 1 {
					without.Nodes = without.Nodes[:1]
				}
				break
			}
		}
	}
	if len(without.Nodes) == 0 {
		return err
	}
	without.Dividing = false
	better := *pgError
	better.DetailText = fmt.Sprintf("Table %v has the placement %s.", table, p)
	better.HintText = fmt.Sprintf("Start it, or leave it out: ALTER TABLE %s.%s SET PLACEMENT %s.", duckdb.QuoteIdentifier(table.Schema), duckdb.QuoteIdentifier(table.Name), duckdb.QuoteLiteral(without.String()))
	if pgError.State == "55000" {
		better.HintText = strings.TrimPrefix(better.HintText, "Start it, or leave it out: ")
	}
	return &better
}

// TargetFor is where new chunks of a table go, of rows that are written by a session of this time zone.
func (k *Keeper) TargetFor(ctx context.Context, v *catalog.TableVersion, zone string) (ingest.Target, error) {
	table := v.Table()
	target := k.Target(ctx, table.Name, table.Columns)
	p, err := placement.Parse(table.Placement)
	if err != nil {
		return target, err
	}
	if target.Check, err = k.engine.Check(table, zone); err != nil {
		return target, err
	}
	return target, k.Place(ctx, &target, p, v)
}

// Place makes a target one of a placement.
func (k *Keeper) Place(ctx context.Context, target *ingest.Target, p placement.Placement,
	v *catalog.TableVersion) error {
	names, err := k.node.Takers(p)
	if err != nil {
		return k.leaveOut(err, v.Table().Name, p)
	}
	if target.Replicate, err = k.Replicator(v.Table(), p); err != nil {
		return err
	}
	if p.Kind == placement.Hash {
		hash := &ingest.Hash{}
		for _, name := range p.Columns {
			hash.Columns = append(hash.Columns, ingest.Index(target.Schema, name))
		}
		if slices.Contains(hash.Columns, -1) {
			return sqlerror.New("XX001", "table %v is placed by %s, and has no such columns", target.Owner, p)
		}
		for _, name := range names {
			space, err := k.node.SpaceOf(ctx, name)
			if err != nil {
				return err
			}
			hash.Spaces = append(hash.Spaces, space)
		}
		target.Hash = hash
		return nil
	}
	if len(names) == 1 {
		target.Space, err = k.node.SpaceOf(ctx, names[0])
		return err
	}
	next := k.leastOf(ctx, v, names)
	target.Spread = len(names)
	target.Next = func(ctx context.Context) (catalog.Space, error) {
		name := names[next%len(names)]
		next++
		return k.node.SpaceOf(ctx, name)
	}
	return nil
}

// leastOf is the position of the node that has the least of a table.
func (k *Keeper) leastOf(ctx context.Context, v *catalog.TableVersion, names []string) (best int) {
	if v.Rows() == 0 {
		return 0
	}
	chunks, err := k.facts.Chunks(ctx, v)
	if err != nil {
		return 0 // a query of the table will report it
	}
	bytes := map[string]int64{}
	for _, c := range chunks {
		name, _ := k.catalog.Reachable(c.First.Region)
		bytes[name] += c.Bytes
	}
	for i, name := range names {
		if bytes[name] < bytes[names[best]] {
			best = i
		}
	}
	return best
}
