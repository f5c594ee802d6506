package pgcatalog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// Macros that give another value at another time, or in another session: those that call what does, through others,
// too.
func TestChanging(t *testing.T) {
	require.Equal(t, strings.Fields(`csm_clock_timestamp/0 csm_current_timestamp/1 csm_localtime/1
		csm_localtimestamp/1 current_catalog/0 current_database/0 current_role/0 current_schema/0 current_schemas/1
		current_setting/1 current_setting/2 current_user/0 pg_backend_pid/0 pg_listening_channels/0 session_user/0 user/0`),
		pgcatalog.ChangingForms())
	require.True(t, pgcatalog.Changing("now", 0))
	require.False(t, pgcatalog.Changing("csm_lpad", 2))
	require.False(t, pgcatalog.Changing("csm_current_timestamp", 2), "there is none")
}
