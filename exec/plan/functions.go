package plan

import "strings"

// PureFunctions are DuckDB 1.5's scalar functions that give the same result for the same arguments whenever and
// wherever they are called, as far as statements are likely to use them. Everything else (random, now, nextval,
// current_setting, macros, functions of extensions) is not split (D1).
var PureFunctions = Words(`
abs acos acosh add array_length ascii asin asinh atan atan2 atanh bar base64 bin bit_count bit_length cbrt ceil
ceiling century char_length character_length chr concat concat_ws contains cos cosh cot damerau_levenshtein date_diff
date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear decade
degrees divide editdist3 encode ends_with epoch epoch_ms epoch_ns epoch_us era even exp factorial floor format
format_bytes from_base64 from_hex gamma gcd greatest greatest_common_divisor hamming hash hex hour ilike_escape instr
isfinite isinf isnan isodow isoyear jaccard jaro_similarity jaro_winkler_similarity julian last_day lcase lcm least
least_common_multiple left left_grapheme len length length_grapheme levenshtein lgamma like_escape flatten list_concat
list_contains list_distinct list_extract list_position list_reverse_sort list_sort list_unique list_value ln log log10
log2 lower lpad ltrim make_date make_time make_timestamp md5 microsecond millennium millisecond minute mismatches mod
month monthname multiply nanosecond nextafter not_ilike_escape not_like_escape octet_length ord pi position pow power
prefix printf quarter radians regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches
regexp_replace regexp_split_to_array repeat replace reverse right right_grapheme round rpad rtrim second sha1 sha256
sign signbit similar_to_escape sin sinh split_part sqrt starts_with str_split str_split_regex strftime string_split
string_split_regex string_to_array strip_accents strlen strpos strptime struct_pack substr substring
substring_grapheme subtract suffix tan tanh time_bucket timezone to_base64 to_days to_hex to_hours to_microseconds
to_milliseconds to_minutes to_months to_seconds to_timestamp to_weeks to_years translate trim trunc try_strptime
typeof ucase unhex unicode upper url_decode url_encode week weekday weekofyear xor year yearweek btrim extract overlay
csm_bpchar csm_btrim csm_date_part csm_div csm_divide csm_divisor csm_extract csm_extract__epoch csm_lpad csm_mod
csm_acosh csm_chr csm_exp csm_gcd csm_lcm csm_operator__power csm_pow csm_power
csm_json csm_numeric__digits csm_json_member csm_json_pointer
csm_numeric csm_numeric__exact csm_numeric__array csm_numeric__array2 csm_numeric__text csm_numeric__texts
csm_numeric__parameter csm_numeric__of_text
csm_text csm_text__boolean csm_truth csm_whole csm_operator__sqrt csm_operator__cbrt csm_round__even
csm_date_trunc__century csm_date_trunc__millennium csm_octet_length
csm_overlay csm_regexp_match csm_rpad csm_sha256 csm_substr csm_substr__pattern
csm_substring csm_substring__pattern csm_to_hex csm_varchar csm_width_bucket
csm_date_part__century csm_date_part__day csm_date_part__decade csm_date_part__dow csm_date_part__doy
csm_date_part__epoch csm_date_part__hour csm_date_part__isodow csm_date_part__isoyear csm_date_part__julian
csm_date_part__microseconds csm_date_part__millennium csm_date_part__milliseconds csm_date_part__minute
csm_date_part__month csm_date_part__quarter csm_date_part__second csm_date_part__timezone csm_date_part__timezone_hour
csm_date_part__timezone_minute csm_date_part__week csm_date_part__year csm_extract__century csm_extract__day
csm_extract__decade csm_extract__dow csm_extract__doy csm_extract__hour csm_extract__isodow csm_extract__isoyear
csm_extract__julian csm_extract__microseconds csm_extract__millennium csm_extract__milliseconds csm_extract__minute
csm_extract__month csm_extract__quarter csm_extract__second csm_extract__timezone csm_extract__timezone_hour
csm_extract__timezone_minute csm_extract__week csm_extract__year csm_make_date csm_make_timestamp csm_make_timestamptz
csm_date_trunc__decade csm_date_trunc__zone csm_array_cat csm_least csm_greatest
csm_round__0 csm_round__1 csm_round__2 csm_round__3 csm_round__4 csm_round__5 csm_round__6 csm_round__7 csm_round__8
csm_round__9 csm_round__10 csm_round__11 csm_round__12
csm_trunc__0 csm_trunc__1 csm_trunc__2 csm_trunc__3 csm_trunc__4 csm_trunc__5 csm_trunc__6 csm_trunc__7 csm_trunc__8
csm_trunc__9 csm_trunc__10 csm_trunc__11 csm_trunc__12`)

// AggregateFunctions are all of DuckDB's.
var AggregateFunctions = Words(`
any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_max_nulls_last arg_min
arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or bit_xor bitstring_agg bool_and bool_or corr count count_if count_star
countif covar_pop covar_samp entropy favg first first_value fsum group_concat histogram histogram_exact kahan_sum
kurtosis kurtosis_pop last last_value list listagg mad max max_by mean median min min_by mode nth_value product
quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
regr_sxy regr_syy reservoir_quantile sem skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow
sumkahan var_pop var_samp variance percentile_cont percentile_disc`)

// Words is a set of words that a list has, with blanks between.
func Words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
