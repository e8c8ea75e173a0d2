/** What the API is measured against: Express and pg, the same queries, and nothing else. Arguments: database URL, customer. */
import express from 'express';
import pg from 'pg';
import { appendEvents } from '../../control-api/events/log.ts';
import { onClient } from '../../control-api/events/statement.ts';

const [url, customer] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 10 });
const app = express();
const columns = 'id, customer_id, name, detail, tm_create, tm_update, tm_delete';

app.get('/tags', async (request, response) => {
  const { rows } = await pool.query(
    `select ${columns} from tags where customer_id = $1 and tm_delete is null and tm_create < $2
     order by tm_create desc limit 101`,
    [customer, request.query['page_token'] ?? 'infinity'],
  );
  response.json({ result: rows.slice(0, 100), next_page_token: 'more' });
});

app.get('/tags/:id', async (request, response) => {
  const { rows } = await pool.query(
    `select ${columns} from tags where customer_id = $1 and id = $2 and tm_delete is null`,
    [customer, request.params.id],
  );
  response.json(rows[0]);
});

const insert = `insert into tags (id, customer_id, name, detail, tm_create) values (gen_random_uuid(), $1, $2, $3, now())
  returning ${columns}`;

/** The row alone: what somebody writes who has nobody to tell. */
app.post('/rows', express.json(), async (request, response) => {
  const { name, detail } = request.body as { name: string; detail: string };
  const { rows } = await pool.query(insert, [customer, name, detail]);
  response.json(rows[0]);
});

/** A row and its event in one transaction, as a client of the API is promised. */
app.post('/tags', express.json(), async (request, response) => {
  const { name, detail } = request.body as { name: string; detail: string };
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query<{ id: string; customer_id: string }>(insert, [customer, name, detail]);
    for (const row of rows) {
      const about = { customer_id: row.customer_id, resource: 'tag', resource_id: row.id, request_id: '' };
      const event = { ...about, event_type: 'tag_created', data: { ...row } } as const;
      await appendEvents(onClient(client), [event]);
    }
    await client.query('commit');
    response.json(rows[0]);
  } finally {
    client.release();
  }
});

const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address) console.log(JSON.stringify({ ready: address.port }));
});
