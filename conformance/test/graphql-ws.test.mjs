// WebSockets: graphql-ws as a client.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { connectSocket } from '../network.mjs';
import { ask, dispatch, newcomer, sign, startBelfry, until } from '../server.mjs';

const badgeChanged = 'subscription { badgeChanged { user { id unreadCount } } }';
const unread = '{ viewer { unreadCount } }';
const options = { timeout: 30_000 };

const count = ({ value }) => value.data.badgeChanged.user.unreadCount;

/** Reads a badge up to a value. In between there may be others: what is told is a level, not each step. */
async function settle(badge, want) {
  const seen = [];
  while (seen.at(-1) !== want) seen.push(count(await badge.next()));
  return seen;
}

async function collect(results) {
  const all = [];
  for await (const result of results) all.push(result);
  return all;
}

async function unreadIds(token) {
  const query = '{ viewer { notifications(filter: {status: UNREAD}) { nodes { id } } } }';
  return (await ask(token, query)).viewer.notifications.nodes.map(({ id }) => id);
}

const markRead = (token, ids) =>
  ask(token, 'mutation ($ids: [ID!]!) { markNotificationsRead(input: {ids: $ids}) { changedIds } }', { ids });

test('a query and a mutation with variables', options, async (t) => {
  const { token } = newcomer();
  const { client, sockets } = connectSocket(t, token);
  assert.deepEqual(await collect(client.iterate({ query: unread })), [{ data: { viewer: { unreadCount: 0 } } }]);
  const query = `mutation ($input: UpdateSettingsInput!) {
    updateSettings(input: $input) { settings { locale } userErrors { message } } }`;
  const results = await collect(client.iterate({ query, variables: { input: { locale: 'pt-BR' } } }));
  assert.deepEqual(results, [{ data: { updateSettings: { settings: { locale: 'pt-BR' }, userErrors: [] } } }]);
  assert.ok(sockets.length >= 1);
});

test('T-02, T-03: a badge follows what producers and other tabs do', options, async (t) => {
  const { user, token } = newcomer();
  const badge = connectSocket(t, token).client.iterate({ query: badgeChanged });
  assert.equal(count(await badge.next()), 0);
  await dispatch([user]);
  assert.equal(count(await badge.next()), 1);
  for (const title of ['two', 'three', 'four']) await dispatch([user], { title });
  const rise = await settle(badge, 4);
  assert.deepEqual(rise, rise.toSorted(), 'a level never goes back');
  const ids = await unreadIds(token);
  await markRead(token, ids.slice(0, 1));
  assert.equal(count(await badge.next()), 3);
  await markRead(token, ids.slice(1, 2));
  assert.equal(count(await badge.next()), 2);
  await ask(token, 'mutation { markAllNotificationsRead(input: {}) { changedCount } }');
  assert.equal(count(await badge.next()), 0);
  await badge.return();
});

test('several subscriptions share a socket, and a query beside them', options, async (t) => {
  const { user, token } = newcomer();
  const { client, sockets } = connectSocket(t, token);
  const badge = client.iterate({ query: badgeChanged });
  const query = `subscription ($categories: [String!]) { inboxChanged(categories: $categories) {
    __typename user { unreadCount } ... on NotificationCreated { notificationEdge { cursor node { title } } } } }`;
  const all = client.iterate({ query });
  const builds = client.iterate({ query, variables: { categories: ['ci'] } });
  const event = async (events) => (await events.next()).value.data.inboxChanged;
  assert.equal(count(await badge.next()), 0);
  for (const events of [all, builds]) assert.equal((await event(events)).__typename, 'InboxSnapshot');
  await dispatch([user], { category: 'reviews', title: 'a review' });
  assert.equal((await event(all)).notificationEdge.node.title, 'a review');
  // T-44: what is not of these categories changes the counts alone.
  assert.deepEqual(await event(builds), { __typename: 'InboxSnapshot', user: { unreadCount: 1 } });
  await dispatch([user], { category: 'ci', title: 'a build' });
  assert.equal((await event(builds)).notificationEdge.node.title, 'a build');
  assert.equal((await event(all)).notificationEdge.node.title, 'a build');
  await settle(badge, 2);
  assert.deepEqual(await collect(client.iterate({ query: unread })), [{ data: { viewer: { unreadCount: 2 } } }]);
  assert.equal(sockets.length, 1);
});

test('a lazy client connects for its first operation and closes after its last', options, async (t) => {
  const { client, sockets } = connectSocket(t, newcomer().token);
  assert.equal(sockets.length, 0);
  const badge = client.iterate({ query: badgeChanged });
  await badge.next();
  const [socket] = sockets;
  const closed = once(socket, 'close');
  await badge.return();
  const [code] = await closed;
  assert.equal(code, 1000);
  await client.iterate({ query: badgeChanged }).next();
  assert.equal(sockets.length, 2);
});

test('an eager client stays connected between operations', options, async (t) => {
  const { token } = newcomer();
  let ack;
  const connected = new Promise((resolve) => (ack = resolve));
  const { client, sockets } = connectSocket(t, token, { lazy: false, on: { connected: ack } });
  await connected;
  for (let i = 0; i < 3; i++) await collect(client.iterate({ query: unread }));
  assert.equal(sockets.length, 1);
  assert.equal(sockets[0].readyState, sockets[0].OPEN);
});

test('a token that expires: 4403, and the client comes back with the one it then has', options, async (t) => {
  const { user } = newcomer();
  const given = [sign(user, 3), sign(user)];
  const closed = [];
  const { client, sockets } = connectSocket(t, null, {
    connectionParams: () => ({ Authorization: `Bearer ${given.shift()}` }),
    retryWait: async () => {},
    on: { closed: ({ code }) => closed.push(code) },
  });
  const badge = client.iterate({ query: badgeChanged });
  await badge.next();
  await badge.next(); // the first event of the second socket
  assert.deepEqual(closed, [4403]);
  assert.equal(sockets.length, 2);
  await dispatch([user]);
  assert.equal(count(await badge.next()), 1);
});

test('a bad token: 4403, and the client gives up after its attempts', options, async (t) => {
  const waits = [];
  const { client, sockets } = connectSocket(t, 'none', {
    retryAttempts: 2,
    retryWait: async (retries) => waits.push(retries),
  });
  await assert.rejects(client.iterate({ query: badgeChanged }).next(), { code: 4403, reason: 'Forbidden' });
  assert.deepEqual(waits, [0, 1]);
  assert.equal(sockets.length, 3);
});

test('a bad token: as it comes, the client waits before it tries again', options, async (t) => {
  const connecting = [];
  const { client } = connectSocket(t, 'none', {
    retryAttempts: 1,
    on: { connecting: () => connecting.push(performance.now()) },
  });
  await assert.rejects(client.iterate({ query: badgeChanged }).next(), { code: 4403 });
  assert.equal(connecting.length, 2);
  assert.ok(connecting[1] - connecting[0] >= 1000, `${connecting}`);
});

test('T-46: a client that checks the link finds it alive', options, async (t) => {
  const { user, token } = newcomer();
  let sent = 0;
  let answered = 0;
  let timer;
  const { client, sockets } = connectSocket(t, token, {
    keepAlive: 20,
    on: {
      // As graphql-ws's own recipe has it: no pong in time, and the socket is thrown away.
      ping: (received) => {
        if (received) return;
        sent++;
        timer = setTimeout(() => client.terminate(), 5000);
      },
      pong: (received) => {
        if (!received) return;
        answered++;
        clearTimeout(timer);
      },
    },
  });
  t.after(() => clearTimeout(timer));
  const badge = client.iterate({ query: badgeChanged });
  await badge.next();
  await until(() => answered >= 20);
  assert.ok(sent - answered <= 1, `${sent} pings, ${answered} pongs`);
  await dispatch([user]);
  assert.equal(count(await badge.next()), 1);
  assert.equal(sockets.length, 1);
});

test('T-46: the server asks at once after the ack', options, async (t) => {
  const { client, sockets } = connectSocket(t, newcomer().token);
  await client.iterate({ query: badgeChanged }).next();
  await until(() => sockets[0].pings > 0, 'a ping of the server', 5000);
});

test('an operation that fails ends alone', options, async (t) => {
  const { user, token } = newcomer();
  const { client, sockets } = connectSocket(t, token);
  const badge = client.iterate({ query: badgeChanged });
  await badge.next();
  await assert.rejects(client.iterate({ query: '{ nobody }' }).next(), ([{ extensions }]) => {
    assert.equal(extensions.code, 'GRAPHQL_VALIDATION_FAILED');
    return true;
  });
  const query = '{ viewer { unreadCount notifications(first: 101) { nodes { id } } } }';
  const [{ errors }] = await collect(client.iterate({ query }));
  assert.deepEqual(errors[0].extensions, { code: 'BAD_USER_INPUT', argument: 'first' });
  await dispatch([user]);
  assert.equal(count(await badge.next()), 1);
  assert.equal(sockets.length, 1);
});

test('without a token: the socket stays, its operations are UNAUTHENTICATED', options, async (t) => {
  const { client, sockets } = connectSocket(t, null, { lazy: false });
  await assert.rejects(client.iterate({ query: badgeChanged }).next(), ([{ extensions }]) => {
    assert.equal(extensions.code, 'UNAUTHENTICATED');
    return true;
  });
  const [{ data, errors }] = await collect(client.iterate({ query: unread }));
  assert.equal(data.viewer, null);
  assert.equal(errors[0].extensions.code, 'UNAUTHENTICATED');
  assert.equal(sockets.length, 1);
});

test("the client's complete ends its operation, and nothing follows", options, async (t) => {
  const { user, token } = newcomer();
  const messages = [];
  const { client } = connectSocket(t, token, { on: { message: (message) => messages.push(message) } });
  const ended = client.iterate({ query: badgeChanged });
  await ended.next();
  const { id } = messages.find(({ type }) => type === 'next');
  const badge = client.iterate({ query: badgeChanged });
  await badge.next();
  await ended.return();
  const before = messages.filter((message) => message.id === id).length;
  for (const want of [1, 2]) {
    await dispatch([user], { title: `${want}` });
    await settle(badge, want);
  }
  assert.equal(messages.filter((message) => message.id === id).length, before);
  assert.ok(messages.every(({ type }) => type !== 'complete'));
});

describe('a server that goes', () => {
  let server;
  before(async () => (server = await startBelfry()), options);
  after(() => server.stop(), options);

  /** Someone with a badge of 1, a client of theirs, and how to tell them more. */
  async function follow(t, given) {
    const { user } = newcomer();
    const { url, secret, tokens } = server;
    const closed = [];
    const on = { closed: ({ code }) => closed.push(code) };
    const { client, sockets } = connectSocket(t, sign(user, 3600, secret), { url, on, ...given });
    const badge = client.iterate({ query: badgeChanged });
    const tell = () => dispatch([user], { url, token: tokens['demo-backend'] });
    assert.equal(count(await badge.next()), 0);
    await tell();
    assert.equal(count(await badge.next()), 1);
    return { badge, closed, sockets, tell };
  }

  for (const [signal, code] of Object.entries({ SIGTERM: 1012, SIGKILL: 1006 })) {
    test(`T-40: ${signal} closes with ${code}, and the client comes back to the database's badge`, options, async (t) => {
      let goOn;
      const mayConnect = new Promise((resolve) => (goOn = resolve));
      const { badge, closed, tell } = await follow(t, { retryWait: () => mayConnect });
      await server.end(signal);
      await until(() => closed.length > 0);
      assert.deepEqual(closed, [code]);
      await server.start();
      await tell(); // while the client is away
      goOn();
      assert.equal(count(await badge.next()), 2);
      await tell();
      assert.equal(count(await badge.next()), 3);
      await badge.return();
    });
  }

  test('T-40: a client that is told to goes on where its connections are refused', options, async (t) => {
    const patient = { shouldRetry: () => true, retryAttempts: Infinity, retryWait: () => delay(20) };
    const { badge, sockets, tell } = await follow(t, patient);
    await server.end();
    await until(() => sockets.length > 3);
    await server.start();
    assert.equal(count(await badge.next()), 1);
    await tell();
    assert.equal(count(await badge.next()), 2);
    await badge.return();
  });

  // Why the one above has to be told: what a refused connection gives is not a close event, and by default the client
  // takes anything else for the end.
  test('as it comes, a client gives up at the first refused connection', options, async (t) => {
    let goOn;
    const mayConnect = new Promise((resolve) => (goOn = resolve));
    const { badge, sockets } = await follow(t, { retryWait: () => mayConnect });
    await server.end();
    goOn();
    await assert.rejects(badge.next(), ({ message }) => /ECONNREFUSED/.test(message));
    assert.equal(sockets.length, 2);
    await server.start();
  });
});
