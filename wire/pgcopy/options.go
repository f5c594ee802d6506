package pgcopy

import (
	"fmt"
	"strings"
)

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

// OptionError is a combination of options that PostgreSQL refuses, too.
type OptionError struct {
	State   string // SQLSTATE
	Message string
}

func (e *OptionError) Error() string { return e.Message }

// SQLState returns the SQLSTATE.
func (e *OptionError) SQLState() string { return e.State }

func optionError(message string) error { return &OptionError{State: "22023", Message: message} }

// withDefaults fills in what is zero and checks the rest as PostgreSQL's ProcessCopyOptions does.
func (o Options) withDefaults() (Options, error) {
	if o.Format > Binary {
		return o, optionError("COPY format must be text, csv or binary")
	}
	null, delimiter := `\N`, byte('\t')
	if o.Format == CSV {
		null, delimiter = "", ','
		if o.Quote == 0 {
			o.Quote = '"'
		}
		if o.Escape == 0 {
			o.Escape = o.Quote
		}
	}
	if o.Null == nil {
		o.Null = &null
	}
	if o.Delimiter == 0 {
		o.Delimiter = delimiter
	}
	return o, o.check()
}

// check looks for options that would make the data ambiguous.
func (o Options) check() error {
	switch {
	case o.Format == Binary:
		if o.Header {
			return optionError("cannot specify HEADER in BINARY mode")
		}
		return nil
	case o.Delimiter == '\n' || o.Delimiter == '\r':
		return optionError("COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(*o.Null, "\r\n"):
		return optionError("COPY null representation cannot use newline or carriage return")
	case strings.IndexByte(*o.Null, o.Delimiter) >= 0:
		return optionError("COPY delimiter character must not appear in the NULL specification")
	case o.Format == Text && strings.IndexByte(`\.abcdefghijklmnopqrstuvwxyz0123456789`, o.Delimiter) >= 0:
		return optionError(fmt.Sprintf("COPY delimiter cannot be %q", o.Delimiter))
	case o.Format == CSV && o.Delimiter == o.Quote:
		return optionError("COPY delimiter and quote must be different")
	case o.Format == CSV && strings.IndexByte(*o.Null, o.Quote) >= 0:
		return optionError("CSV quote character must not appear in the NULL specification")
	}
	return nil
}
