package noderpc

import "github.com/csmsql/csmsql/catalog"

// LoadMode says what becomes of a table that may be there.
type LoadMode uint8

// The modes of a load.
const (
	// LoadCreate makes the table; it is an error if it exists.
	LoadCreate LoadMode = iota + 1
	// LoadReplace makes the table and drops one of that name, in one commit.
	LoadReplace
	// LoadAppend adds to a table that exists.
	LoadAppend
)

func (m LoadMode) String() string {
	switch m {
	case LoadCreate:
		return "create"
	case LoadReplace:
		return "replace"
	case LoadAppend:
		return "append"
	}
	return "unknown"
}

// The formats of files. Empty: the file's name decides.
const (
	FormatParquet = "parquet"
	FormatCSV     = "csv"
	FormatArrow   = "arrow"
)

// LoadRequest asks for a load.
type LoadRequest struct {
	// Table to be loaded. An empty schema is the node's default.
	Table catalog.TableName
	// Files are absolute paths, read by the node.
	Files   []string
	Format  string
	Options LoadOptions
}

// LoadOptions of a load.
type LoadOptions struct {
	Mode LoadMode
	// Placement of a table that is made: local, node(NAME), rows, hash(column, …) and so on, as the node reads it.
	// Empty: local.
	Placement string
	// Replicas of every chunk of a table that is made, each on another node; 0 is 1.
	Replicas int
	// Parameters are options of the format as COPY has them: delimiter, header, null, …; the node checks them.
	Parameters map[string]string
}

// LoadResult is what a load did.
type LoadResult struct {
	Rows     int64            `json:"rows"`
	Bytes    int64            `json:"bytes"`
	Chunks   int64            `json:"chunks"`
	Revision catalog.Revision `json:"revision"`
}

// Progress is how far a load is. Totals are 0 when they are not known.
type Progress struct {
	// Step is what is being done: a table's or a file's name. Each step has its own bar.
	Step              string
	Rows, RowsTotal   int64
	Bytes, BytesTotal int64
}

// TPCHRequest asks for the TPC-H tables.
type TPCHRequest struct {
	// ScaleFactor is above 0.
	ScaleFactor float64
	// Schema that gets the tables; empty is the node's default.
	Schema string
	// Replace drops tables of these names in the same commit; otherwise they are an error.
	Replace bool
	// Placement of the tables: as of a load, or "hash", alone or before " on (a, b)", for each table by its own key.
	// Empty: local.
	Placement string
	// Replicas of every chunk, each on another node; 0 is 1.
	Replicas int
}
