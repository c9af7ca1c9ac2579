// The protocol graphql-transport-ws, message by message, with the names that graphql-ws has for its close codes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';

import { CloseCode } from 'graphql-ws';
import { WebSocket } from 'ws';

import { belfry, sign, until } from '../server.mjs';

const init = { type: 'connection_init', payload: { Authorization: `Bearer ${sign('ada')}` } };
const ack = { type: 'connection_ack' };
const subscribe = (query, id = '1') => ({ id, type: 'subscribe', payload: { query } });
const query = subscribe('{ __typename }');
const badge = subscribe('subscription { badgeChanged { user { __typename } } }');
const next = { id: '1', type: 'next', payload: { data: { __typename: 'Query' } } };
const firstBadge = { id: '1', type: 'next', payload: { data: { badgeChanged: { user: { __typename: 'User' } } } } };
const complete = { id: '1', type: 'complete' };
const closed = (code) => ({ closed: code });
const ping = [{ type: 'ping', payload: { n: 1 } }, { type: 'pong', payload: { n: 1 } }];

// What is sent, and what is answered.
const cases = {
  'init': [[init], [ack]],
  'init with a null payload': [[{ type: 'connection_init', payload: null }], [ack]],
  'init whose payload is a string': [[{ type: 'connection_init', payload: 'x' }], [closed(CloseCode.BadRequest)]],
  'init whose payload is an array': [[{ type: 'connection_init', payload: [] }], [closed(CloseCode.BadRequest)]],
  'init with a bad token': [[{ ...init, payload: { token: 'none' } }], [closed(CloseCode.Forbidden)]],
  'second init': [[init, init], [ack, closed(CloseCode.TooManyInitialisationRequests)]],
  'no init in time': [[], [closed(CloseCode.ConnectionInitialisationTimeout)]],
  'subscribe before init': [[query], [closed(CloseCode.Unauthorized)]],
  'not JSON': [[init, '{'], [ack, closed(CloseCode.BadRequest)]],
  'not JSON before init': [['nonsense'], [closed(CloseCode.BadRequest)]],
  'unknown type': [[init, { id: '1', type: 'start' }], [ack, closed(CloseCode.BadRequest)]],
  "a server's type": [[init, next], [ack, closed(CloseCode.BadRequest)]],
  'ping before init': [[ping[0]], [ping[1]]],
  'ping': [[init, ping[0]], [ack, ping[1]]],
  'pong': [[init, { type: 'pong' }, ping[0]], [ack, ping[1]]],
  'query': [[init, query], [ack, next, complete]],
  'subscription': [[init, badge], [ack, firstBadge]],
  'id of one under way': [[init, badge, badge], [ack, closed(CloseCode.SubscriberAlreadyExists)]],
  'no id': [[init, { ...query, id: undefined }], [ack, closed(CloseCode.BadRequest)]],
  'empty id': [[init, { ...query, id: '' }], [ack, closed(CloseCode.BadRequest)]],
  'no payload': [[init, { ...query, payload: undefined }], [ack, closed(CloseCode.BadRequest)]],
  'no query': [[init, { ...query, payload: {} }], [ack, closed(CloseCode.BadRequest)]],
  'complete of none': [[init, { ...complete, id: '9' }, ping[0]], [ack, ping[1]]],
  'over 64 KiB': [[init, { type: 'ping', payload: { a: 'x'.repeat(64 << 10) } }], [ack, closed(1009)]],
};

const connect = (...args) => new WebSocket(belfry().url.replace('http', 'ws'), ...args);

for (const [name, [sent, want]] of Object.entries(cases)) {
  test(name, { timeout: 15_000 }, async (t) => {
    const socket = connect('graphql-transport-ws');
    t.after(() => socket.terminate());
    const got = [];
    const answered = new Promise((resolve) => {
      const take = (answer) => got.push(answer) >= want.length && resolve();
      socket.on('message', (data) => take(JSON.parse(data)));
      socket.on('close', (code) => take(closed(code)));
    });
    await once(socket, 'open');
    for (const message of sent) socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    await answered;
    assert.deepEqual(got, want);
  });
}

test('an error is the last of its operation', { timeout: 15_000 }, async (t) => {
  const socket = connect('graphql-transport-ws');
  t.after(() => socket.terminate());
  const got = [];
  socket.on('message', (data) => got.push(JSON.parse(data)));
  await once(socket, 'open');
  for (const message of [init, subscribe('{'), subscribe('{ nobody }', '2')]) socket.send(JSON.stringify(message));
  await until(() => got.length === 3);
  // Its answer comes after whatever else there would be.
  socket.send(JSON.stringify(ping[0]));
  await until(() => got.at(-1).type === 'pong');
  const codes = got.slice(1, -1).map(({ id, type, payload: [{ extensions }] }) => [id, type, extensions.code]);
  assert.deepEqual(codes.toSorted(), [['1', 'error', 'GRAPHQL_PARSE_FAILED'], ['2', 'error', 'GRAPHQL_VALIDATION_FAILED']]);
});

test('no subprotocol', { timeout: 15_000 }, async () => {
  const [code] = await once(connect([]), 'close');
  assert.equal(code, CloseCode.SubprotocolNotAcceptable);
});

test('the legacy subprotocol is not taken, alone or before the other', { timeout: 15_000 }, async (t) => {
  const legacy = connect(['graphql-ws']);
  // `ws` does not wait for the close code where none of what it offers is taken.
  const [error] = await once(legacy, 'error');
  assert.equal(error.message, 'Server sent no subprotocol');
  const both = connect(['graphql-ws', 'graphql-transport-ws']);
  t.after(() => both.terminate());
  await once(both, 'open');
  assert.equal(both.protocol, 'graphql-transport-ws');
});

test('a foreign origin', { timeout: 15_000 }, async () => {
  const socket = connect('graphql-transport-ws', { origin: 'https://evil.example' });
  socket.on('error', () => {});
  const [, response] = await once(socket, 'unexpected-response');
  assert.equal(response.statusCode, 403);
  response.destroy();
});
