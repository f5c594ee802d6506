package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/node"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
	"github.com/csmsql/csmsql/internal/bytesize"
)

func newVerify() *cobra.Command {
	var to target
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify [TABLE…]",
		Short: "Compare sealed chunks with their checksums",
		Long: `Compare the bytes of tables' chunks (all tables, if none is named), with all their replicas, with the checksums that they were sealed
with, and name what is damaged or cannot be had. Queries go on meanwhile; it reads at the speed of memory.

A damaged chunk is an error for queries and never wrong rows. If another replica of it is whole, that one is read, and the
damaged one is rebuilt. If not, load the table again, or let ALTER TABLE … RELOAD do it.

The exit code is 1 if anything is damaged.`,
		Example: "  csmsql verify\n  csmsql verify lineitem sales.orders --to /srv/a",
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			client, err := to.dial(ctx)
			if err != nil {
				return err
			}
			defer client.Close() // only calls that have ended
			var request noderpc.VerifyRequest
			for _, name := range args {
				request.Tables = append(request.Tables, node.TableNamed(name))
			}
			display := progress.New(c.ErrOrStderr())
			start := time.Now()
			result, err := client.Verify(ctx, request, display.Report)
			display.Finish(err != nil)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(c.OutOrStdout())
				encoder.SetIndent("", "  ")
				err = encoder.Encode(result)
			} else {
				err = printVerified(c.OutOrStdout(), result, time.Since(start))
			}
			if err == nil && len(result.Damaged) > 0 {
				err = quietError{fmt.Errorf("damaged: %s", progress.Counted(int64(len(result.Damaged))+result.More, "replica"))}
			}
			return err
		}),
	}
	to.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	return c
}

// printVerified shows to people what was found.
func printVerified(out io.Writer, r noderpc.VerifyResult, took time.Duration) error {
	var text strings.Builder
	replicas := ""
	if r.Replicas != r.Chunks {
		replicas = " in " + progress.Counted(r.Replicas, "replica")
	}
	fmt.Fprintf(&text, "%s, %s%s, %s were compared with their checksums in %s.\n",
		progress.Counted(r.Tables, "table"), progress.Counted(r.Chunks, "chunk"), replicas, bytesize.Size(r.Bytes), took.Round(time.Millisecond))
	if len(r.Damaged) == 0 {
		text.WriteString("All are whole.\n")
		_, err := io.WriteString(out, text.String())
		return err
	}
	table(&text, "table\tchunk\trows\tnode\tother replica\tdamage", len(r.Damaged), func(i int) []any {
		d := r.Damaged[i]
		spared := "none is whole"
		if d.Spared {
			spared = "whole"
		}
		rows := fmt.Sprintf("%s to %s", progress.Count(d.FirstRow), progress.Count(d.FirstRow+d.Rows-1))
		return []any{catalog.TableName{Schema: d.Schema, Name: d.Table}, d.Chunk, rows, d.Node, spared, d.Reason}
	})
	if r.More > 0 {
		fmt.Fprintf(&text, "and %s more\n", progress.Count(r.More))
	}
	_, err := io.WriteString(out, text.String())
	return err
}
