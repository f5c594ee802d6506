package lineage

// Source is a file that rows are read from, while they are.
type Source struct {
	file  File
	known bool
}

// Unknown is a source of which nothing is put on record.
func Unknown() *Source { return &Source{} }

// Open takes notice of a file that is about to be read at a node: columns are the table's that it fills, in its
// order, call gives the table function that reads it under a name; nil: it is an Arrow IPC file. sql: it is read
// for SQL.
func Open(node, path string, sql bool, columns []string, call func(file string) (string, error)) *Source {
	file, err := Look(node, path)
	if err != nil {
		return Unknown() // a pattern, or an address
	}
	file.Columns, file.SQL = columns, sql
	if call != nil {
		if file.Call, err = call(file.Path); err != nil {
			return Unknown()
		}
	}
	return &Source{file, true}
}

// End says how many rows the file gave.
func (s *Source) End(rows int64) {
	s.file.Rows = rows
	s.known = s.known && !s.file.Touched()
}

// Origin is that of all rows of one file; nil if it is not known.
func (s *Source) Origin(rows int64) *Origin {
	s.End(rows)
	return OfFiles([]*Source{s}, rows)
}

// OfFiles is the origin of the rows of files, one after the other; nil if one of them is not known.
func OfFiles(list []*Source, rows int64) *Origin {
	o := &Origin{Rows: rows}
	for _, s := range list {
		if !s.known {
			return nil
		}
		o.Files = append(o.Files, s.file)
	}
	return o
}
