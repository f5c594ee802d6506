package files

import (
	"regexp"
	"strings"

	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// The options of a COPY of a file that every format has, and those that DuckDB has and csmsql has not.

// commonOption takes FORMAT, and what FREEZE and ENCODING say if that is what is done anyway; not taken: it is another
// option.
func commonOption(o statement.Option) (taken bool, err error) {
	switch o.Name {
	case "format":
		return true, nil
	case "freeze", "encoding":
		return true, vacuous(o)
	}
	return false, nil
}

// synonyms are other names that DuckDB has for options.
var synonyms = map[string]string{"sep": "delimiter", "separator": "delimiter", "delim": "delimiter", "nullstr": "null", "codec": "compression"}

// CheckOptions is the error of an option that is given by two of its names; nil: none is.
func CheckOptions(options []statement.Option) error {
	said := map[string]bool{}
	for _, o := range options {
		name := o.Name
		if synonyms[name] != "" {
			name = synonyms[name]
		}
		if said[name] {
			return sqlerror.New("42601", "conflicting or redundant options").WithHint("Write " + strings.ToUpper(name) + " once: " + o.Name + " is another name for it.")
		}
		said[name] = true
	}
	return nil
}

// duckCopyOptions are those of DuckDB's that are not here. Of each one it is known that it is refused by its name:
// TestDialectIsWhole.
var duckCopyOptions = wordSet(`allow_quoted_nulls append array auto_detect binary_as_string bloom_filter_false_positive_ratio buffer_size
	can_have_nan chunk_size comment compression compression_level date_format dateformat debug_use_openssl decimal_separator
	dictionary_compression_ratio_threshold dictionary_size_limit encryption_config field_ids file_extension file_row_number
	file_size_bytes filename_pattern force_not_null force_null force_quote geoparquet_version hive_file_pattern ignore_errors kv_metadata
	max_line_size maximum_line_size new_line null_padding overwrite overwrite_or_ignore parallel parquet_version partition_by
	per_thread_output prefix preserve_order rejects_limit rejects_scan rejects_table return_files return_stats row_group_size
	row_group_size_bytes row_groups_per_file sample_size shredding skip store_rejects strict_mode string_dictionary_page_size_limit
	suffix thousands timestamp_format timestampformat use_tmp_file write_bloom_filter write_empty_file write_partition_columns`)

// csvOptions are those that only CSV files have.
var csvOptions = wordSet("header null nullstr delimiter delim sep separator quote escape")

func notFor(name, format string) *sqlerror.Error {
	return sqlerror.New("0A000", "COPY option %q is not supported for %s files", name, format).
		WithHint("Leave it out; SELECT … FROM read_csv(…), read_parquet(…) and read_json(…) take DuckDB's options of reading.")
}

func formatUnknown(format string) *sqlerror.Error {
	return sqlerror.New("0A000", "COPY format %q is not supported", format).WithHint("Formats: csv, text (to read), parquet, json, arrow.")
}

// refuseOption is the error of a COPY option that is none, or is not supported.
func refuseOption(name, format string) error {
	if duckCopyOptions[name] || synonyms[name] != "" {
		return notFor(name, format)
	}
	return sqlerror.New("42601", "option %q not recognized", name)
}

// unknownOption is what DuckDB says of an option that a format does not have.
var unknownOption = regexp.MustCompile(`^(?:Unrecognized option "(\w+)" for (\w+)|Unknown option for COPY \.\.\. TO \.\.\. \(FORMAT (\w+)\): "(\w+)"\.|Option "(\w+)" is not supported for )`)

// formatHasNot is the error of an option that DuckDB does not take for a format; nil: it says something else.
func formatHasNot(message string) error {
	m := unknownOption.FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	name, format := strings.ToLower(m[1]+m[4]+m[5]), strings.ToLower(m[2]+m[3])
	if format == "" {
		format = "such"
	}
	return notFor(name, format)
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}
