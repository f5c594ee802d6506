package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/node"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

func newChunk() *cobra.Command {
	var to target
	c := &cobra.Command{
		Use:   "chunk TABLE NUMBER",
		Short: "Show the descriptor of a chunk",
		Long: `Show the descriptor of a table's chunk: all that travels when another process or node is to read it in place. It says in which
region each extent lies, of which generation, with which checksum, where in it the buffers of each column are, and the
statistics of the columns, and how many of its rows are deleted. No row is read.

Chunks are numbered from 0; SELECT * FROM csm.chunks lists them.`,
		Example: "  csmsql chunk lineitem 0\n  csmsql chunk sales.orders 12 --to /srv/a",
		Args:    usage(oneChunk),
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			client, err := to.dial(ctx)
			if err != nil {
				return err
			}
			defer client.Close() // only calls that have ended
			number, _ := strconv.Atoi(args[1])
			d, deleted, err := describe(ctx, client, node.TableNamed(args[0]), number)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(c.OutOrStdout(), d)
			if deleted > 0 && err == nil {
				_, err = fmt.Fprintf(c.OutOrStdout(), "deleted: %d of %d rows\n", deleted, d.Rows)
			}
			return err
		}),
	}
	to.flags(c)
	return c
}

func oneChunk(_ *cobra.Command, args []string) error {
	if len(args) != 2 {
		return errors.New("which chunk? Give a table and the number of a chunk; csm.chunks lists them")
	}
	if n, err := strconv.Atoi(args[1]); err != nil || n < 0 {
		return fmt.Errorf("%q is no number of a chunk: they are numbered from 0", args[1])
	}
	return nil
}

// describe gets a chunk's descriptor as borrowers do, of a leased snapshot, and how many of its rows are deleted.
func describe(ctx context.Context, client *noderpc.Client, name catalog.TableName, number int) (
	d *descriptor.Descriptor, deleted int64, err error,
) {
	taken, err := client.Lease(ctx, catalog.Holder{Description: "csmsql chunk"})
	if err != nil {
		return nil, 0, err
	}
	snapshot, err := catalog.NewRemoteSnapshot(taken.Record, client, catalog.RemoteOptions{Release: func() {
		_ = client.Release(context.WithoutCancel(ctx), taken.ID()) // else it ends by itself
	}})
	if err != nil {
		return nil, 0, err
	}
	defer snapshot.Close()
	name.Schema = cmp.Or(name.Schema, duckdb.SchemaName)
	table, ok := snapshot.Table(name)
	if !ok {
		return nil, 0, sqlerror.New("42P01", "relation %q does not exist", name.String())
	}
	if chunks := table.NumChunks(); number >= chunks {
		return nil, 0, sqlerror.New("22023", "there is no chunk %d: %s has %d, which are numbered from 0",
			number, name, chunks)
	}
	chunk, err := table.Chunk(ctx, number)
	if err != nil {
		return nil, 0, err
	}
	gone, err := table.Deleted(ctx, number)
	return chunk.Stored(), gone.Count(), err
}
