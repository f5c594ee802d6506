package enginetest

// functions are expressions by the family of what they give: {family} stands for an expression, {k} for a small number, {any} for a
// column, {} for a brace. What begins with ! can fail for some values.
var functions = map[string][]string{
	"number": {
		"({int}::HUGEINT + {int}::HUGEINT)", "({int}::HUGEINT * {int}::HUGEINT)", "({int}::HUGEINT - {k})", "-({int}::HUGEINT)", "({number}::DOUBLE * 2)", "({number}::DOUBLE / {number}::DOUBLE)",
		"TRY({number} + {number})", "TRY({number} * {number})", "abs({number}::DOUBLE)", "sign({number})", "({decimal}::DOUBLE + {k})", "!({number} + {number})", "!({int} * {k})",
		"TRY({int} // {k})", "({int}::HUGEINT % 7)", "round({float}, {k})", "length({text})", "position('a' IN {text})", "date_part('year', {date})", "epoch({stamp})",
	},
	"int": {
		"length({text})", "strlen({text})", "octet_length({blob})", "position({text} IN {text})", "instr({text}, 'a')", "ascii({text})", "unicode({text})", "bit_count({int})", "sign({int})",
		"year({date})", "month({stamp})", "dayofweek({date})", "extract(quarter FROM {date})", "date_diff('day', {date}, DATE '2020-01-01')", "datediff('hour', {stamp}, TIMESTAMP '2020-01-01')", "hour({clock})", "day({stamp})",
		"TRY_CAST({text} AS INTEGER)", "TRY_CAST({float} AS INTEGER)", "TRY_CAST({decimal} AS BIGINT)", "TRY({int} + {int})", "TRY({int} * {int})", "TRY({int} - {k})", "({int} % 5)", "({int} // 3)", "({int} & 7)", "({int} | 1)", "xor({int}, 3)",
		"CAST({bool} AS INTEGER)", "len({ints})", "len({texts})", "list_position({ints}, {k})", "list_sum({ints})::HUGEINT % 1000", "array_length({texts})", "TRY(list_max({ints}))", "list_min({ints})", "list_count({ints})", "list_extract({ints}, {k})",
		"list_unique({ints})", "json_array_length({json})", "TRY_CAST(({json} ->> '$.a') AS INTEGER)", "levenshtein({text}, 'air')", "hash({text}) % 16", "!CAST({float} AS INTEGER)", "!({int} + {int})", "cardinality(map_from_entries([({k}, {int})]))",
		"list_reduce(list_prepend(0, {ints}), lambda x, y: coalesce(x, 0)::HUGEINT + coalesce(y, 0)::HUGEINT)::HUGEINT % 97", "(SELECT count(*) FROM unnest({ints}))", "(SELECT max(u) FROM unnest({ints}) AS q(u))", "epoch_ms({stamp}) % 1000",
	},
	"float": {
		"({float} + {k})", "({float} * 0.5)", "-({float})", "abs({float})", "round({float}, {k})", "floor({float})", "ceil({float})", "trunc({float})", "TRY(sqrt({float}))", "TRY(ln({float}))", "CAST({int} AS DOUBLE)", "CAST({decimal} AS DOUBLE)",
		"TRY_CAST({text} AS DOUBLE)", "({int} / {int})", "({float} / {float})", "fmod({float}, 2)", "pow({k}, 2)", "TRY(exp({k} + {float}))", "sign({float})", "greatest({float}, {float})", "list_extract({floats}, {k})", "isnan({float})::INTEGER", "even({float})",
		"atan({float})", "cbrt({float})", "degrees({k})", "list_sum([{k}, 0.5])", "CAST({float} AS FLOAT)",
	},
	"decimal": {
		"TRY({decimal} + {decimal})", "TRY({decimal} * {k})", "TRY(-({decimal}))", "abs({decimal})", "round({decimal}, 1)", "TRY_CAST({text} AS DECIMAL(12,3))", "TRY_CAST({float} AS DECIMAL(12,3))", "TRY_CAST({int} AS DECIMAL(9,2))", "TRY({decimal} % 3)", "!({decimal} - {decimal})",
		"!CAST({decimal} AS DECIMAL(9,2))",
	},
	"text": {
		"upper({text})", "lower({text})", "{text} || {text}", "concat({text}, {any})", "concat_ws('-', {text}, {int})", "substr({text}, 1, {k})", "substring({text} FROM 2)", "left({text}, {k})", "right({text}, {k})", "left({text}, -1)", "trim({text})", "ltrim({text}, 'a')",
		"replace({text}, 'a', 'bb')", "reverse({text})", "repeat({text}, {k})", "lpad({text}, 8, '*')", "rpad({text}, 3, 'x')", "regexp_replace({text}, '[a-z]', '_')", "regexp_extract({text}, '[A-Z]+')", "split_part({text}, 'a', 1)", "string_split({text}, ' ')[1]",
		"CAST({any} AS VARCHAR)", "CAST({int} AS VARCHAR)", "CAST({decimal} AS VARCHAR)", "CAST({date} AS VARCHAR)", "CAST({stamp} AS VARCHAR)", "CAST({uuid} AS VARCHAR)", "CAST({bool} AS VARCHAR)", "CAST({float} AS VARCHAR)", "strftime({stamp}, '%Y-%m-%d %H')", "monthname({date})",
		"dayname({date})", "md5({text})", "hex({text})", "to_base64({blob})", "array_to_string({texts}, ',')", "list_extract({texts}, {k})", "({json} ->> 'a')", "json_extract_string({json}, '$.b')", "json_type({json})", "typeof({any})", "format('{}}:{}}', {text}, {int})",
		"printf('%s-%d', {text}, {k})", "chr(65 + {k})", "translate({text}, 'ab', 'xy')", "strip_accents({text})", "nfc_normalize({text})", "overlay({text} PLACING 'zz' FROM 1 FOR 1)", "bar({k}, 0, 10, 5)", "CAST({json} AS VARCHAR)",
	},
	"blob": {"encode({text})", "from_hex('00ff')", "{blob} || {blob}", "TRY_CAST({text} AS BLOB)", "from_base64('YWI=')"},
	"bool": {
		"({int} = {int})", "({text} < {text})", "({any} IS NULL)", "({any} IS NOT NULL)", "NOT ({bool})", "({bool} AND {bool})", "({bool} OR {bool})", "({text} LIKE 'a%')", "!({text} LIKE '%' || {text})", "starts_with({text}, 'A')", "contains({text}, {text})", "({date} < {date})", "({number} > {number})",
		"isnan({float})", "isinf({float})", "isfinite({float})", "isfinite({date})", "isinf({stamp})", "list_contains({ints}, {k})", "list_has_any({ints}, [1, 2])", "({ints} = {ints})", "({texts} IS DISTINCT FROM {texts})", "TRY_CAST({text} AS BOOLEAN)", "json_valid({text})",
		"({bool} IS TRUE)", "({bool} IS NOT FALSE)", "({bool} IS NULL)", "regexp_matches({text}, '^[a-z]')", "({int} IN ({int}, {k}))", "({decimal} BETWEEN {decimal} AND {decimal})", "({uuid} < {uuid})", "({blob} = {blob})", "({span} < {span})", "({clock} >= {clock})", "list_bool_and([{bool}, true])",
		"({int}, {text}) = ({int}, {text})", "(({int}, {k}) < ({int}, {k}))", "len(list_filter({ints}, lambda x: x > {k})) > 0", "list_any_value([{bool}])", "({zoned} < {zoned})", "({nanos} = {nanos})", "json_contains({json}, '1')", "suffix({text}, 'r')", "prefix({text}, {text})",
	},
	"date": {
		"CAST({stamp} AS DATE)", "TRY_CAST({text} AS DATE)", "TRY({date} + {k})", "TRY({date} - {k})", "TRY(CAST(date_trunc('month', {date}) AS DATE))", "TRY(last_day({date}))", "TRY(make_date(2020, {k}, 3))", "TRY(CAST({date} + INTERVAL '1 month' AS DATE))", "!({date} + {k})",
	},
	"stamp": {
		"date_trunc('hour', {stamp})", "date_trunc('month', {stamp})", "TRY({stamp} + INTERVAL '1 day')", "TRY({stamp} - {span})", "CAST({date} AS TIMESTAMP)", "TRY_CAST({text} AS TIMESTAMP)", "make_timestamp(2020, 1, 1 + {k}, 2, 3, 4.5)", "TRY(time_bucket(INTERVAL '2 days', {stamp}))", "TRY({date} + {clock})",
	},
	"nanos": {"TRY_CAST({stamp} AS TIMESTAMP_NS)", "make_timestamp_ns({k})"},
	"zoned": {"TRY({zoned} + INTERVAL '1 hour')", "CAST({stamp} AS TIMESTAMPTZ)", "TRY(date_trunc('day', {zoned}))", "to_timestamp({k})"},
	"clock": {"CAST({stamp} AS TIME)", "({clock} + INTERVAL '90 minutes')", "make_time({k}, 1, 2.5)", "TRY_CAST({text} AS TIME)"},
	"span":  {"TRY({stamp} - {stamp})", "to_days({k})", "to_months({k})", "({span} * {k})", "({span} + INTERVAL '1 hour')", "TRY(age({stamp}, TIMESTAMP '2020-01-01'))", "-({span})", "TRY_CAST({text} AS INTERVAL)"},
	"uuid":  {"TRY_CAST({text} AS UUID)", "CAST(md5({text}) AS UUID)"},
	"json":  {"({json} -> 'b')", "json_extract({json}, '$.a')", "to_json({int})", "to_json({text})", "json_object('a', {int})", "json_array({k}, {text})", "to_json({ints})", "json_merge_patch({json}, '{}\"z\": 1}')", "TRY_CAST({text} AS JSON)", "json_keys({json})[1]::JSON"},
	"ints": {"list_sort({ints})", "list_reverse({ints})", "list_concat({ints}, {ints})", "{ints}[1:{k}]", "list_filter({ints}, lambda x: x > 1)", "list_transform({ints}, lambda x: x % 10)", "[x % 5 FOR x IN {ints} IF x IS NOT NULL]", "list_append({ints}, {k})", "list_sort(list_distinct({ints}))", "range({k})", "[{int}, {int}]",
		"flatten([{ints}, {ints}])", "list_slice({ints}, 1, 2)", "generate_series(1, {k})", "list_transform({ints}, lambda x, i: i)", "list_sort(list_intersect({ints}, [1, 2, 3]))", "list_resize({ints}, 3)", "list_grade_up({ints})", "list_where({ints}, [true])", "list_prepend({int}, {ints})", "list_reverse_sort({ints})"},
	"texts":  {"string_split({text}, 'a')", "list_sort({texts})", "list_transform({texts}, lambda x: upper(x))", "list_transform({ints}, lambda x: x::VARCHAR)", "[{text}, {text}]", "list_append({texts}, {text})", "regexp_split_to_array({text}, ' ')", "list_filter({texts}, lambda x: x <> '')", "map_keys(MAP {}coalesce({text}, 'n'): 1})", "regexp_extract_all({text}, '[a-z]')", "json_keys({json})"},
	"floats": {"list_sort({floats})", "list_transform({floats}, lambda x: x * 2)", "[{float}, {float}]", "list_reverse({floats})"},

	"DECIMAL(38,0)":                {"CAST({int} AS DECIMAL(38,0))", "abs({DECIMAL(38,0)})", "TRY({DECIMAL(38,0)} + 1)"},
	"DECIMAL(38,10)":               {"CAST({int} AS DECIMAL(38,10))", "TRY({DECIMAL(38,10)} + 1)"},
	"STRUCT(a INTEGER, b VARCHAR)": {"{}'a': TRY_CAST({int} AS INTEGER), 'b': {text}}", "struct_pack(a := {k}, b := {text})", "ROW({k}, {text})::STRUCT(a INTEGER, b VARCHAR)"},
	"MAP(VARCHAR, INTEGER)":        {"MAP {}coalesce({text}, 'n'): {k}}", "map([coalesce({text}, '')], [{k}])", "map_concat({MAP(VARCHAR, INTEGER)}, MAP {}'z': {k}})", "map_from_entries(map_entries({MAP(VARCHAR, INTEGER)}))"},
	"INTEGER[3]":                   {"array_value({k}, {k}, 2)", "CAST([{k}, {k}, {k}] AS INTEGER[3])"},
	"DOUBLE[2]":                    {"array_value({k}::DOUBLE, 0.5)"},
	"BOOLEAN[]":                    {"[{bool}, {bool}]", "list_transform({ints}, lambda x: x > 1)"},
	"INTEGER[][]":                  {"[[{k}], [1, 2]]"},
}
