// What programs do with node's pg. ../doc.go says what is printed.
const assert = require('assert')
const { Client, Pool } = require('pg')

const url = process.argv[2]
const checks = []
const check = (name, run) => checks.push([name, run])

async function connected (run) {
  const client = new Client(url)
  await client.connect()
  try { return await run(client) } finally { await client.end() }
}

check('connection', () => connected(async c => {
  assert.deepStrictEqual((await c.query('SELECT 40 + 2 AS answer')).rows, [{ answer: 42 }])
  assert.deepStrictEqual((await c.query({ text: 'SELECT 1 AS a; SELECT 2 AS b' })).map(r => r.rows), [[{ a: 1 }], [{ b: 2 }]])
}))

check('parameters', () => connected(async c => {
  const at = new Date(Date.UTC(2024, 5, 30, 12, 34, 56, 789))
  const r = await c.query(
    'SELECT $1::integer AS i, $2::bigint AS b, $3::double precision AS f, $4::numeric(12, 3) AS n, $5::text AS t, $6::boolean AS o, $7::bytea AS y, $8::timestamptz AS at, $9::uuid AS u, $10::text AS x, $11::integer[] AS l',
    [7, '9223372036854775807', 0.1, '1.250', 'süß \'quoted\' \\ 🎉', true, Buffer.from([0, 1, 255]), at, '12345678-1234-5678-1234-567812345678', null, [1, 2, 3]])
  assert.deepStrictEqual(r.rows[0], {
    i: 7, b: '9223372036854775807', f: 0.1, n: '1.250', t: 'süß \'quoted\' \\ 🎉', o: true, y: Buffer.from([0, 1, 255]), at, u: '12345678-1234-5678-1234-567812345678', x: null, l: [1, 2, 3]
  })
  assert.strictEqual((await c.query('SELECT count(*)::integer AS n FROM nation WHERE n_name = ANY($1)', [['FRANCE', 'CHINA']])).rows[0].n, 2)
}))

// What has no declared type, as node's texts have not, has that of the column: an array's text is an array.
check('arrays', () => connected(async c => {
  await c.query('CREATE OR REPLACE TABLE node_lists (i integer[], t text[], n numeric(5, 2)[])')
  const row = [[1, null], ['a,b', null, '"q"', ''], ['1.25']]
  for (let i = 0; i < 3; i++) await c.query({ name: 'lists', text: 'INSERT INTO node_lists VALUES ($1, $2, $3)', values: row })
  const r = await c.query('SELECT * FROM node_lists WHERE i = $1', [row[0]])
  assert.deepStrictEqual([r.rows.length, r.rows[0]], [3, { i: row[0], t: row[1], n: [1.25] }])
}))

check('settings', async () => {
  const c = new Client({ connectionString: url, statement_timeout: 400, lock_timeout: 300, application_name: 'njs', options: '-c search_path=public' })
  await c.connect()
  for (const [name, value] of [['statement_timeout', '400ms'], ['lock_timeout', '300ms'], ['application_name', 'njs']]) {
    assert.strictEqual((await c.query('SHOW ' + name)).rows[0][name], value)
  }
  await assert.rejects(c.query('SELECT count(*) FROM range(100000000000) t(i) WHERE i % 7 = 3'), e => e.code === '57014')
  await c.query('BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY')
  await assert.rejects(c.query('CREATE TABLE node_never (i integer)'), e => e.code === '25006')
  await c.end()
})

check('namedStatement', () => connected(async c => {
  for (let i = 0; i < 10; i++) {
    const r = await c.query({ name: 'by key', text: 'SELECT n_nationkey FROM nation WHERE n_nationkey = $1', values: [i] })
    assert.deepStrictEqual(r.rows, [{ n_nationkey: i }])
  }
}))

check('manyRows', () => connected(async c => {
  const r = await c.query('SELECT l_orderkey FROM lineitem')
  assert.strictEqual(r.rowCount, 60175)
  assert.deepStrictEqual([r.command, r.fields[0].name], ['SELECT', 'l_orderkey'])
}))

check('transactionsAndErrors', () => connected(async c => {
  await c.query('CREATE OR REPLACE TABLE node_tx (i integer, d json)')
  await c.query('BEGIN')
  await c.query('INSERT INTO node_tx VALUES ($1, $2)', [1, { a: [1] }])
  await assert.rejects(c.query('SELECT * FROM no_such_table'), e => e.code === '42P01' && e.position === '15')
  await assert.rejects(c.query('SELECT 1'), e => e.code === '25P02')
  await c.query('ROLLBACK')
  assert.strictEqual((await c.query('INSERT INTO node_tx VALUES ($1, $2)', [2, { b: 'ü' }])).rowCount, 1)
  assert.deepStrictEqual((await c.query('SELECT * FROM node_tx')).rows, [{ i: 2, d: { b: 'ü' } }])
}))

check('pool', async () => {
  const pool = new Pool({ connectionString: url, max: 5 })
  const all = await Promise.all(Array.from({ length: 50 }, (_, i) => pool.query('SELECT $1::integer AS i', [i])))
  assert.deepStrictEqual(all.map(r => r.rows[0].i), Array.from({ length: 50 }, (_, i) => i))
  await pool.end()
})

async function main () {
  console.log('checks\t' + checks.map(c => c[0]).join(' '))
  for (const [name, run] of checks) {
    try {
      await run()
      console.log('ok\t' + name)
    } catch (e) {
      console.log('fail\t' + name + '\t' + String(e.stack).replaceAll('\n', ' | '))
    }
  }
}
main()
