package distribute

import "github.com/csmsql/csmsql/exec/plan"

var (
	pureFunctions      = plan.PureFunctions
	aggregateFunctions = plan.AggregateFunctions
)

// The classes that functions give, where it is certain.
var (
	integerFunctions = plan.Words(`
array_length ascii bit_count bit_length century char_length character_length damerau_levenshtein date_diff date_sub
datediff datesub day dayofmonth dayofweek dayofyear decade editdist3 epoch_ms epoch_ns epoch_us hamming hour instr
isodow isoyear len length length_grapheme levenshtein list_position microsecond millennium millisecond minute
mismatches month octet_length ord position quarter second strlen strpos unicode week weekday weekofyear year yearweek`)
	floatingFunctions = plan.Words(`
acos acosh asin asinh atan atan2 atanh cbrt cos cosh cot degrees epoch exp gamma jaccard jaro_similarity
jaro_winkler_similarity lgamma ln log log10 log2 pi pow power radians sin sinh sqrt tan tanh csm_acosh csm_exp csm_pow
csm_power csm_operator__power`)
	otherFunctions = plan.Words(`
base64 bin chr concat concat_ws date_trunc datetrunc dayname encode format format_bytes from_base64 from_hex hex
last_day lcase left left_grapheme lower lpad ltrim make_date make_time make_timestamp md5 monthname printf
regexp_escape regexp_extract regexp_replace repeat replace reverse right right_grapheme rpad rtrim sha1 sha256
split_part strftime strip_accents strptime substr substring substring_grapheme to_base64 to_hex translate trim typeof
ucase unhex upper url_decode url_encode btrim overlay csm_chr csm_text csm_to_hex`)
	booleanFunctions = plan.Words(`
contains ends_with isfinite isinf isnan list_contains prefix regexp_full_match regexp_matches starts_with suffix
ilike_escape like_escape not_ilike_escape not_like_escape signbit`)
	integerParts = plan.Words(`
year month day decade century millennium quarter week weekofyear dayofweek dow isodow dayofyear doy hour minute second
millisecond milliseconds microsecond microseconds isoyear yearweek`)
)

// windowFunctions are those that need OVER.
var (
	windowFunctions = plan.Words(`
cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank rank_dense row_number`)
	// reproducible window functions give a row the same value in whatever order its peers come.
	reproducibleWindows = plan.Words(`cume_dist dense_rank percent_rank rank rank_dense`)
)

// pureOperators are those that mean the same to both parsers and whose result depends on the operands alone.
var pureOperators = plan.Words(`+ - * / % // ^ ** || = <> < > <= >= != == ~~ !~~ ~~* !~~* ~ !~ ~* !~* ^@ && & | << >>`)
