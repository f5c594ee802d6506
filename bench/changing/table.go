package changing

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/bench/mixed"
	"github.com/csmsql/csmsql/queries/dbgen"
)

// Table is what sides take and change: its rows, and the statements. Its key is id, from 0 on.
type Table struct {
	Name  string
	Write func(ctx context.Context, w io.Writer) error // rows in COPY's text format

	create, sum, point, update, remove, some, corrupt string
}

// WriteFile writes the rows into a file.
func (t *Table) WriteFile(ctx context.Context, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(t.Write(ctx, f), f.Close())
}

// Mixed is so many rows of every common type. It has no point query: egress asks such a one.
func Mixed(rows int64) *Table {
	return &Table{
		Name: "mixed", create: mixed.Definition(),
		Write: func(_ context.Context, w io.Writer) error { return mixed.Write(w, rows) },
		sum: "SELECT concat_ws(' ', count(*), sum(id), sum(price), sum(customer), sum(line), count(remark)," +
			" count(referrer)," +
			" sum(length(remark)), min(shipped), max(changed AT TIME ZONE 'UTC'), max(name), min(mode)," +
			" count(*) FILTER (WHERE status = 'changed'), count(*) FILTER (WHERE paid)) FROM mixed",
		update:  "UPDATE mixed SET price = price + 1, status = 'changed' WHERE id = $1",
		remove:  "DELETE FROM mixed WHERE id = $1",
		some:    "UPDATE mixed SET price = price + 1 WHERE id % 100 = $1",
		corrupt: "UPDATE mixed SET price = price + 1 WHERE id = 7",
	}
}

// LineItem is the table of TPC-H with a key, of at most so many rows.
func LineItem(scaleFactor float64, most int64) *Table {
	return &Table{
		Name: "lineitem",
		create: "CREATE TABLE lineitem (id bigint, l_orderkey bigint, l_partkey bigint, l_suppkey bigint," +
			" l_linenumber integer, l_quantity numeric(15,2), l_extendedprice numeric(15,2), l_discount numeric(15,2)," +
			" l_tax numeric(15,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date," +
			" l_receiptdate date, l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44))",
		Write: func(ctx context.Context, w io.Writer) error { return writeLineItem(ctx, w, scaleFactor, most) },
		sum: "SELECT concat_ws(' ', count(*), sum(id), sum(l_orderkey), sum(l_partkey), sum(l_suppkey)," +
			" sum(l_linenumber), sum(l_quantity), sum(l_extendedprice), sum(l_discount), sum(l_tax)," +
			" count(*) FILTER (WHERE l_returnflag = 'R'), count(*) FILTER (WHERE l_linestatus = 'F')," +
			" count(*) FILTER (WHERE l_shipdate < l_commitdate), min(l_shipdate), max(l_receiptdate)," +
			" count(*) FILTER (WHERE l_shipinstruct = 'COLLECT COD'), count(*) FILTER (WHERE l_shipmode = 'AIR')," +
			" sum(length(l_comment)), count(*) FILTER (WHERE l_comment = 'changed')) FROM lineitem",
		point:   "SELECT l_orderkey, l_comment FROM lineitem WHERE id = $1",
		update:  "UPDATE lineitem SET l_quantity = l_quantity + 1, l_comment = 'changed' WHERE id = $1",
		remove:  "DELETE FROM lineitem WHERE id = $1",
		some:    "UPDATE lineitem SET l_tax = l_tax + 1 WHERE id % 100 = $1",
		corrupt: "UPDATE lineitem SET l_tax = l_tax + 1 WHERE id = 7",
	}
}

// LineItems is how many rows LineItem has.
func LineItems(scaleFactor float64, most int64) (int64, error) {
	g, err := dbgen.New(scaleFactor)
	if err != nil {
		return 0, err
	}
	return min(g.Rows(dbgen.LineItem), most), nil
}

// errWritten says that there are as many rows as are wished.
var errWritten = errors.New("all rows are written")

// writeLineItem writes values as they are: none has a character that COPY would want to be escaped.
func writeLineItem(ctx context.Context, w io.Writer, scaleFactor float64, most int64) error {
	g, err := dbgen.New(scaleFactor)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, 1<<18)
	id := int64(0)
	var line []byte
	err = g.EachBatch(ctx, dbgen.LineItem, 1, func(batch arrow.RecordBatch) error {
		for i := range int(batch.NumRows()) {
			if id == most {
				return errWritten
			}
			line = strconv.AppendInt(line[:0], id, 10)
			for _, column := range batch.Columns() {
				line = append(append(line, '\t'), column.ValueStr(i)...)
			}
			if _, err := buffered.Write(append(line, '\n')); err != nil {
				return err
			}
			id++
		}
		return nil
	})
	if err != nil && !errors.Is(err, errWritten) {
		return err
	}
	return buffered.Flush()
}
