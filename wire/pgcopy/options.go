package pgcopy

// Format is one of the three formats of COPY.
type Format byte

// The three formats of COPY.
const (
	Text Format = iota
	CSV
	Binary
)

// Options are those of COPY's WITH clause. The zero value is the text format with PostgreSQL's defaults.
type Options struct {
	Format Format
	// Delimiter is one byte; 0 means tab in text, comma in CSV.
	Delimiter byte
	// Null is the string that stands for NULL; nil means \N in text, the unquoted empty string in CSV.
	Null *string
	// Header writes (or skips) a first line with the column names.
	Header bool
	// Quote and Escape are CSV's; 0 means " and the quote.
	Quote, Escape byte
	// ForceQuote lists the columns (positions from 0) whose CSV values are always quoted; ForceQuoteAll means all.
	ForceQuote    []int
	ForceQuoteAll bool
	// ForceNotNull lists the columns whose CSV values never match Null, ForceNull those whose quoted values do.
	ForceNotNull, ForceNull []int
}
