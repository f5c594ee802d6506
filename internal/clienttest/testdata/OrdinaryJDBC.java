import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

/** What programs do with pgJDBC. ../doc.go says what is printed. */
public class OrdinaryJDBC {
    interface Check { void run() throws Exception; }

    static String url;

    static Connection connect(String... options) throws SQLException {
        return DriverManager.getConnection(url + String.join("", options));
    }

    static void expect(Object want, Object got) {
        if (!Objects.deepEquals(want, got)) throw new AssertionError("want " + show(want) + ", got " + show(got));
    }

    static String show(Object o) { return o instanceof Object[] ? Arrays.deepToString((Object[]) o) : String.valueOf(o); }

    static void expectState(String state, Check check) throws Exception {
        try {
            check.run();
        } catch (SQLException e) {
            expect(state, e.getSQLState());
            return;
        }
        throw new AssertionError("no error, want " + state);
    }

    static Object one(Connection c, String sql, Object... args) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(sql)) {
            for (int i = 0; i < args.length; i++) s.setObject(i + 1, args[i]);
            try (ResultSet r = s.executeQuery()) {
                if (!r.next()) return null;
                return r.getObject(1);
            }
        }
    }

    static void exec(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) { s.execute(sql); }
    }

    static void connection() throws Exception {
        try (Connection c = connect()) {
            expect(42, one(c, "SELECT 40 + 2"));
            expect(true, c.isValid(5));
            expect("csmsql", c.getCatalog());
            expect("PostgreSQL", c.getMetaData().getDatabaseProductName());
            c.setReadOnly(true);
            c.setReadOnly(false);
            c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            expect(Connection.TRANSACTION_REPEATABLE_READ, c.getTransactionIsolation());
            c.setSchema("public");
            expect("public", c.getSchema());
        }
    }

    static void parametersOfAllTypes() throws Exception {
        UUID id = UUID.fromString("12345678-1234-5678-1234-567812345678");
        // The sixth execution of a prepared statement is binary and by name; simple mode writes values into the text.
        for (String mode : new String[] {"", "&prepareThreshold=1", "&preferQueryMode=simple"}) {
            try (Connection c = connect(mode)) {
                for (Object[] p : new Object[][] {
                    {"smallint", 32767, 32767}, {"integer", -2147483647, -2147483647}, {"bigint", Long.MAX_VALUE, Long.MAX_VALUE},
                    {"double precision", 0.1, 0.1}, {"real", 1.5f, 1.5f}, {"numeric(20,4)", new BigDecimal("-1234567890123456.7891"), new BigDecimal("-1234567890123456.7891")},
                    {"varchar", "süß 'quoted' \"double\" \\ \n 日本 🎉", "süß 'quoted' \"double\" \\ \n 日本 🎉"}, {"text", "", ""}, {"boolean", true, true},
                    {"date", java.sql.Date.valueOf("2024-02-29"), java.sql.Date.valueOf("2024-02-29")},
                    {"timestamp", Timestamp.valueOf("2024-06-30 12:34:56.789012"), Timestamp.valueOf("2024-06-30 12:34:56.789012")},
                    {"uuid", id, id},
                }) {
                    for (int i = 0; i < 7; i++) {
                        try {
                            expect(p[2], one(c, "SELECT ?::" + p[0], p[1]));
                        } catch (Throwable e) {
                            throw new AssertionError(mode + " " + p[0] + ": " + e.getMessage(), e);
                        }
                    }
                    try (PreparedStatement s = c.prepareStatement("SELECT ?::" + p[0])) {
                        s.setNull(1, Types.NULL);
                        try (ResultSet r = s.executeQuery()) { r.next(); expect(null, r.getObject(1)); }
                    }
                }
            }
        }
    }

    static void bytesTimesAndArrays() throws Exception {
        for (String mode : new String[] {"", "&prepareThreshold=1"}) { // simple mode cannot send bytes, says the driver
            try (Connection c = connect(mode)) {
                for (int i = 0; i < 7; i++) {
                    try (PreparedStatement s = c.prepareStatement("SELECT ?::bytea, ?::timestamptz, ?::date, ?::time")) {
                        s.setBytes(1, new byte[] {0, 1, -1, '\\', '\''});
                        s.setObject(2, OffsetDateTime.of(2024, 6, 30, 12, 0, 0, 5000, ZoneOffset.ofHours(2)));
                        s.setObject(3, LocalDate.of(1969, 7, 20));
                        s.setObject(4, LocalTime.of(23, 59, 59));
                        try (ResultSet r = s.executeQuery()) {
                            r.next();
                            expect(new byte[] {0, 1, -1, '\\', '\''}, r.getBytes(1));
                            expect(OffsetDateTime.of(2024, 6, 30, 10, 0, 0, 5000, ZoneOffset.UTC), r.getObject(2, OffsetDateTime.class));
                            expect(LocalDate.of(1969, 7, 20), r.getObject(3, LocalDate.class));
                            expect(LocalTime.of(23, 59, 59), r.getObject(4, LocalTime.class));
                        }
                    }
                    try (PreparedStatement s = c.prepareStatement("SELECT ?::integer[], count(*) FROM nation WHERE n_name = ANY(?)")) {
                        s.setArray(1, c.createArrayOf("integer", new Object[] {1, null, 3}));
                        s.setArray(2, c.createArrayOf("varchar", new Object[] {"FRANCE", "CHINA", "nowhere"}));
                        try (ResultSet r = s.executeQuery()) {
                            r.next();
                            expect(new Integer[] {1, null, 3}, r.getArray(1).getArray());
                            expect(2L, r.getLong(2));
                        }
                    }
                }
            }
        }
    }

    static void parametersWithoutCasts() throws Exception {
        try (Connection c = connect()) {
            exec(c, "CREATE OR REPLACE TABLE jdbc_typed (i integer, b bigint, n numeric(12,3), f double precision, t varchar, o boolean, d date, ts timestamp)");
            Object[] row = {1, 1L << 40, new BigDecimal("1.250"), 0.5, "ü'", true, java.sql.Date.valueOf("2020-01-02"), Timestamp.valueOf("2020-01-02 03:04:05")};
            try (PreparedStatement s = c.prepareStatement("INSERT INTO jdbc_typed VALUES (?, ?, ?, ?, ?, ?, ?, ?)")) {
                for (int i = 0; i < row.length; i++) s.setObject(i + 1, row[i]);
                expect(1, s.executeUpdate());
                int[] types = {Types.INTEGER, Types.BIGINT, Types.NUMERIC, Types.DOUBLE, Types.VARCHAR, Types.BOOLEAN, Types.DATE, Types.TIMESTAMP};
                for (int i = 0; i < types.length; i++) s.setNull(i + 1, types[i]);
                expect(1, s.executeUpdate());
            }
            String[] names = {"i", "b", "n", "f", "t", "o", "d", "ts"};
            for (int i = 0; i < names.length; i++) expect(row[i], one(c, "SELECT " + names[i] + " FROM jdbc_typed WHERE " + names[i] + " = ?", row[i]));
            expect(1L, one(c, "SELECT count(*) FROM jdbc_typed WHERE i IS NULL"));
            expect("BRAZIL", one(c, "SELECT n_name FROM nation ORDER BY 1 LIMIT ? OFFSET ?", 1, 2));
        }
    }

    static void preparedStatementReused() throws Exception {
        try (Connection c = connect(); PreparedStatement s = c.prepareStatement("SELECT n_name FROM nation WHERE n_nationkey = ?")) {
            for (int i = 0; i < 25; i++) {
                s.setInt(1, i);
                try (ResultSet r = s.executeQuery()) { expect(true, r.next()); expect(false, r.next()); }
            }
        }
    }

    static void fetchSize() throws Exception {
        try (Connection c = connect()) {
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.setFetchSize(500);
                int count = 0;
                try (ResultSet r = s.executeQuery("SELECT l_orderkey, l_comment FROM lineitem ORDER BY l_orderkey")) {
                    while (r.next()) {
                        if (++count % 20000 == 0) expect(25L, one(c, "SELECT count(*) FROM nation"));
                    }
                }
                expect(60175, count);
                s.setMaxRows(7);
                count = 0;
                try (ResultSet r = s.executeQuery("SELECT l_orderkey FROM lineitem")) { while (r.next()) count++; }
                expect(7, count);
            }
            c.commit();
        }
    }

    static void transactions() throws Exception {
        try (Connection c = connect(); Connection other = connect()) {
            exec(c, "CREATE OR REPLACE TABLE jdbc_tx (i integer)");
            c.setAutoCommit(false);
            exec(c, "INSERT INTO jdbc_tx VALUES (1)");
            expect(0L, one(other, "SELECT count(*) FROM jdbc_tx"));
            c.rollback();
            exec(c, "INSERT INTO jdbc_tx VALUES (2)");
            c.commit();
            expect(2, one(other, "SELECT sum(i)::integer FROM jdbc_tx"));
            java.sql.Savepoint here = c.setSavepoint("here");
            exec(c, "INSERT INTO jdbc_tx VALUES (3)");
            expectState("42P01", () -> exec(c, "SELECT * FROM no_such_table"));
            c.rollback(here);
            exec(c, "INSERT INTO jdbc_tx VALUES (4)");
            java.sql.Savepoint there = c.setSavepoint();
            exec(c, "DELETE FROM jdbc_tx");
            c.rollback(there);
            c.releaseSavepoint(here);
            c.commit();
            expect(6, one(other, "SELECT sum(i)::integer FROM jdbc_tx"));
        }
        // autosave: the driver sends a savepoint before each statement and goes back to it after an error.
        try (Connection c = DriverManager.getConnection(url + "&autosave=always")) {
            c.setAutoCommit(false);
            exec(c, "INSERT INTO jdbc_tx VALUES (5)");
            expectState("22P02", () -> exec(c, "SELECT 'x'::integer"));
            expectState("42P01", () -> exec(c, "SELECT * FROM no_such_table"));
            expect(11, one(c, "SELECT sum(i)::integer FROM jdbc_tx"));
            c.commit();
        }
    }

    static void readOnly() throws Exception {
        try (Connection c = connect("&readOnlyMode=always")) {
            exec(c, "CREATE OR REPLACE TABLE jdbc_read (i integer)");
            c.setReadOnly(true);
            expectState("25006", () -> exec(c, "INSERT INTO jdbc_read VALUES (1)"));
            c.setReadOnly(false);
            exec(c, "INSERT INTO jdbc_read VALUES (1)");
        }
        try (Connection c = connect()) { // the driver's own default: read only from BEGIN on
            c.setAutoCommit(false);
            c.setReadOnly(true);
            expectState("25006", () -> exec(c, "INSERT INTO jdbc_read VALUES (2)"));
            c.rollback();
            c.setReadOnly(false);
            expect(1L, one(c, "SELECT count(*) FROM jdbc_read"));
        }
    }

    static void isolation() throws Exception {
        try (Connection c = connect(); Connection d = connect()) {
            exec(c, "CREATE OR REPLACE TABLE jdbc_skew (i integer)");
            for (Connection x : List.of(c, d)) {
                x.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                expect(Connection.TRANSACTION_SERIALIZABLE, x.getTransactionIsolation());
                x.setAutoCommit(false);
                expect(0L, one(x, "SELECT count(*) FROM jdbc_skew"));
            }
            exec(c, "INSERT INTO jdbc_skew VALUES (1)");
            exec(d, "INSERT INTO jdbc_skew VALUES (2)");
            c.commit();
            expectState("40001", d::commit);
        }
    }

    static void timeouts() throws Exception {
        try (Connection c = connect("&options=-c%20statement_timeout=7s"); Statement s = c.createStatement()) {
            expect("7s", one(c, "SHOW statement_timeout"));
            s.setQueryTimeout(1);
            expectState("57014", () -> s.executeQuery("SELECT count(*) FROM range(100000000000) t(i) WHERE i % 7 = 3"));
            expect(1, one(c, "SELECT 1"));
        }
        expectState("42704", () -> connect("&options=-c%20nonsense=1").close());
    }

    static void generatedKeys() throws Exception {
        for (String mode : new String[] {"", "&reWriteBatchedInserts=true"}) {
            try (Connection c = connect(mode)) {
                exec(c, "CREATE OR REPLACE TABLE jdbc_keys (i integer, t varchar(5), a integer[])");
                try (PreparedStatement s = c.prepareStatement("INSERT INTO jdbc_keys VALUES (?, ?, ?)", new String[] {"i", "t"})) {
                    for (int i = 0; i < 3; i++) {
                        s.setInt(1, i);
                        s.setString(2, "t" + i);
                        s.setArray(3, c.createArrayOf("int4", new Integer[] {i, null}));
                        s.addBatch();
                    }
                    s.executeBatch();
                    int n = 0;
                    for (ResultSet r = s.getGeneratedKeys(); r.next(); n++) expect("t" + r.getInt("i"), r.getString("t"));
                    expect(3, n);
                }
                try (PreparedStatement s = c.prepareStatement("INSERT INTO jdbc_keys (i) VALUES (?)")) {
                    for (int i = 0; i < 257; i++) { s.setInt(1, i); s.addBatch(); }
                    expect(257, s.executeBatch().length);
                }
                expect(257L * 128 + 3, one(c, "SELECT sum(i)::bigint FROM jdbc_keys"));
                try (PreparedStatement s = c.prepareStatement("INSERT INTO jdbc_keys (t) VALUES (?)")) {
                    for (String t : new String[] {"fits", "does not fit"}) { s.setString(1, t); s.addBatch(); }
                    expectState("22001", s::executeBatch);
                }
                expect(260L, one(c, "SELECT count(*) FROM jdbc_keys"));
            }
        }
    }

    // The driver keeps what it has prepared, and prepares it again when the table is another one.
    static void plansOfOtherTables() throws Exception {
        try (Connection c = connect("&prepareThreshold=1"); PreparedStatement s = c.prepareStatement("SELECT * FROM jdbc_plan")) {
            exec(c, "CREATE OR REPLACE TABLE jdbc_plan AS SELECT 1 AS i");
            for (int i = 0; i < 3; i++) try (ResultSet r = s.executeQuery()) { r.next(); expect(1, r.getInt(1)); }
            exec(c, "CREATE OR REPLACE TABLE jdbc_plan AS SELECT 'x' AS t, 2 AS j");
            try (ResultSet r = s.executeQuery()) { r.next(); expect("x", r.getString(1)); }
        }
    }

    static void errorsAndRecovery() throws Exception {
        try (Connection c = connect()) {
            c.setAutoCommit(false);
            for (String[] p : new String[][] {
                {"SELECT * FROM no_such_table", "42P01"}, {"SELECT no_such_column FROM nation", "42703"}, {"SELEC 1", "42601"},
                {"SELECT 'x'::integer", "22P02"}, {"CREATE TABLE nation (a integer)", "42P07"}, {"SELECT no_such_function(1)", "42883"},
            }) {
                expectState(p[1], () -> exec(c, p[0]));
                expectState("25P02", () -> exec(c, "SELECT 1"));
                c.rollback();
                expect(1, one(c, "SELECT 1"));
            }
            c.rollback();
            c.setAutoCommit(true);
            try { exec(c, "SELECT nope FROM nation"); } catch (org.postgresql.util.PSQLException e) {
                expect(8, e.getServerErrorMessage().getPosition());
            }
        }
    }

    static void batches() throws Exception {
        for (String rewrite : new String[] {"", "&reWriteBatchedInserts=true"}) {
            try (Connection c = connect(rewrite)) {
                exec(c, "CREATE OR REPLACE TABLE jdbc_batch (i integer, t varchar, d date)");
                c.setAutoCommit(false);
                try (PreparedStatement s = c.prepareStatement("INSERT INTO jdbc_batch VALUES (?, ?, ?)")) {
                    for (int i = 0; i < 300; i++) {
                        s.setInt(1, i);
                        s.setString(2, "v'" + i);
                        s.setDate(3, java.sql.Date.valueOf("2024-01-01"));
                        s.addBatch();
                    }
                    expect(300, s.executeBatch().length);
                }
                c.commit();
                expect(44850, one(c, "SELECT sum(i)::integer FROM jdbc_batch"));
                try (Statement s = c.createStatement()) {
                    s.addBatch("INSERT INTO jdbc_batch (i) VALUES (1)");
                    s.addBatch("DELETE FROM jdbc_batch WHERE t IS NULL");
                    expect(new int[] {1, 1}, s.executeBatch());
                }
                c.commit();
            }
        }
    }

    static void copyManager() throws Exception {
        try (Connection c = connect()) {
            exec(c, "CREATE OR REPLACE TABLE jdbc_copy (i integer, t varchar)");
            CopyManager copy = c.unwrap(PGConnection.class).getCopyAPI();
            StringBuilder in = new StringBuilder();
            for (int i = 0; i < 1000; i++) in.append(i).append(",\"ü, ").append(i).append("\"\n");
            expect(1000L, copy.copyIn("COPY jdbc_copy FROM STDIN WITH (FORMAT csv)", new StringReader(in.toString())));
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            expect(2L, copy.copyOut("COPY (SELECT * FROM jdbc_copy WHERE i < 2 ORDER BY i) TO STDOUT", out));
            expect("0\tü, 0\n1\tü, 1\n", out.toString(StandardCharsets.UTF_8));
            expectState("22P02", () -> copy.copyIn("COPY jdbc_copy FROM STDIN WITH (FORMAT csv)", new StringReader("x,y\n")));
            expect(1000L, one(c, "SELECT count(*) FROM jdbc_copy"));
        }
    }

    static List<String> list(ResultSet r, String... columns) throws SQLException {
        List<String> rows = new ArrayList<>();
        while (r.next()) {
            StringJoiner row = new StringJoiner(" ");
            for (String column : columns) row.add(String.valueOf(r.getString(column)));
            rows.add(row.toString());
        }
        r.close();
        return rows;
    }

    static void databaseMetaData() throws Exception {
        try (Connection c = connect()) {
            exec(c, "CREATE OR REPLACE TABLE jdbc_meta (i integer NOT NULL, v varchar, n numeric(12,3) DEFAULT 1.5, d date)");
            exec(c, "CREATE OR REPLACE VIEW jdbc_view AS SELECT i FROM jdbc_meta");
            DatabaseMetaData m = c.getMetaData();
            expect(List.of("public jdbc_meta TABLE"), list(m.getTables(null, "public", "jdbc_meta", new String[] {"TABLE"}), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE"));
            expect(List.of("jdbc_view VIEW"), list(m.getTables("csmsql", "%", "jdbc\\_v%", null), "TABLE_NAME", "TABLE_TYPE"));
            expect(List.of("1 i 4 int4 10 0 NO null", "2 v 12 text 2147483647 0 YES null", "3 n 2 numeric 12 3 YES 1.5", "4 d 91 date 13 0 YES null"),
                list(m.getColumns(null, "public", "jdbc_meta", "%"), "ORDINAL_POSITION", "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "COLUMN_DEF"));
            expect(List.of(), list(m.getPrimaryKeys(null, "public", "jdbc_meta"), "COLUMN_NAME"));
            expect(List.of(), list(m.getIndexInfo(null, "public", "jdbc_meta", false, false), "COLUMN_NAME"));
            expect(List.of(), list(m.getImportedKeys(null, "public", "jdbc_meta"), "FKCOLUMN_NAME"));
            expect(true, list(m.getSchemas(), "TABLE_SCHEM").contains("public"));
            expect(List.of("csmsql"), list(m.getCatalogs(), "TABLE_CAT"));
            List<String> types = list(m.getTypeInfo(), "TYPE_NAME");
            for (String type : new String[] {"int4", "int8", "numeric", "varchar", "text", "bytea", "date", "timestamp", "timestamptz", "uuid"}) {
                if (!types.contains(type)) throw new AssertionError("getTypeInfo lacks " + type);
            }
            list(m.getTableTypes(), "TABLE_TYPE");
            list(m.getFunctions(null, null, "lower"), "FUNCTION_NAME");
            list(m.getProcedures(null, null, "%"), "PROCEDURE_NAME");
            try (PreparedStatement s = c.prepareStatement("SELECT i, n, v FROM jdbc_meta WHERE i = ? AND v = ?")) {
                ResultSetMetaData r = s.getMetaData();
                expect("i int4 n numeric 12 3", r.getColumnName(1) + " " + r.getColumnTypeName(1) + " " + r.getColumnName(2) + " " + r.getColumnTypeName(2) + " " + r.getPrecision(2) + " " + r.getScale(2));
                ParameterMetaData p = s.getParameterMetaData();
                expect("2 int4", p.getParameterCount() + " " + p.getParameterTypeName(1));
            }
        }
    }

    static void cancel() throws Exception {
        String endless = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = -1";
        try (Connection c = connect(); Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            expectState("57014", () -> s.executeQuery(endless));
            s.setQueryTimeout(0);
            expect(1, one(c, "SELECT 1"));
        }
    }

    static void largeResultInBoundedMemory() throws Exception {
        try (Connection c = connect()) { // the machine has 64 MiB
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.setFetchSize(10000);
                long count = 0;
                try (ResultSet r = s.executeQuery("SELECT range::integer, 'a text of some length that would fill the memory ' || range FROM range(1000000)")) {
                    while (r.next()) count += r.getString(2).isEmpty() ? 0 : 1;
                }
                expect(1000000L, count);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        url = args[0];
        Map<String, Check> checks = new LinkedHashMap<>();
        checks.put("connection", OrdinaryJDBC::connection);
        checks.put("parametersOfAllTypes", OrdinaryJDBC::parametersOfAllTypes);
        checks.put("bytesTimesAndArrays", OrdinaryJDBC::bytesTimesAndArrays);
        checks.put("parametersWithoutCasts", OrdinaryJDBC::parametersWithoutCasts);
        checks.put("preparedStatementReused", OrdinaryJDBC::preparedStatementReused);
        checks.put("fetchSize", OrdinaryJDBC::fetchSize);
        checks.put("transactions", OrdinaryJDBC::transactions);
        checks.put("readOnly", OrdinaryJDBC::readOnly);
        checks.put("isolation", OrdinaryJDBC::isolation);
        checks.put("timeouts", OrdinaryJDBC::timeouts);
        checks.put("generatedKeys", OrdinaryJDBC::generatedKeys);
        checks.put("plansOfOtherTables", OrdinaryJDBC::plansOfOtherTables);
        checks.put("errorsAndRecovery", OrdinaryJDBC::errorsAndRecovery);
        checks.put("batches", OrdinaryJDBC::batches);
        checks.put("copyManager", OrdinaryJDBC::copyManager);
        checks.put("databaseMetaData", OrdinaryJDBC::databaseMetaData);
        checks.put("cancel", OrdinaryJDBC::cancel);
        checks.put("largeResultInBoundedMemory", OrdinaryJDBC::largeResultInBoundedMemory);
        System.out.println("checks\t" + String.join(" ", checks.keySet()));
        for (Map.Entry<String, Check> e : checks.entrySet()) {
            try {
                e.getValue().run();
                System.out.println("ok\t" + e.getKey());
            } catch (Throwable t) {
                StringJoiner text = new StringJoiner(" | ").add(String.valueOf(t));
                for (StackTraceElement at : t.getStackTrace()) if (at.getClassName().equals("OrdinaryJDBC")) text.add(at.toString());
                System.out.println("fail\t" + e.getKey() + "\t" + text.toString().replace("\n", " | "));
            }
        }
    }
}
