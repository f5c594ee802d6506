package engine

import (
	"context"

	"github.com/csmsql/csmsql/engine/assembly"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Assembly makes a table, or more rows of one, of parts that Arrow builders write straight into the memory of nodes.
type Assembly = assembly.Assembly

// Part is some of an assembly's rows, in one node's memory.
type Part = assembly.Part

// AssembleOptions say which table.
type AssembleOptions = assembly.Options

// ErrAssemblyOver is what errors.Is finds when an assembly is used after Commit or Abort.
var ErrAssemblyOver = assembly.ErrOver

// Assemble begins. Errors have the states that CREATE TABLE and INSERT have: 42P07, 42P01, 3F000, 25006 for a borrower;
// 0A000 for a table whose rows are placed by their hash: INSERT puts those where they belong.
func (e *Engine) Assemble(ctx context.Context, options AssembleOptions) (*Assembly, error) {
	ctx, leave, err := e.life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if e.catalog == nil {
		return nil, sqlerror.New("25006", "a borrower cannot make tables").WithHint("Make them through the node itself.")
	}
	on := assembly.On{Name: e.config.Node, Node: e.node, Keeper: e.upkeep, Checks: e.checks, Life: e.life}
	a, err := assembly.Begin(ctx, on, options)
	return a, e.life.CauseOf(err)
}
