// Server-sent events: graphql-sse over distinct connections, and what a browser's EventSource makes of them.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { EventSource } from 'eventsource';
import { createClient } from 'graphql-sse';

import { ask, belfry, dispatch, startBelfry, until } from '../server.mjs';

const { url, tokens, log } = belfry();
const badgeChanged = 'subscription { badgeChanged { user { id unreadCount } } }';
const unread = '{ viewer { unreadCount } }';

function connect(t, token = tokens.ada, options = {}) {
  const client = createClient({ url, headers: { authorization: `Bearer ${token}` }, retryAttempts: 0, ...options });
  t.after(() => client.dispose());
  return client;
}

async function collect(results) {
  const all = [];
  for await (const result of results) all.push(result);
  return all;
}

const count = (result) => result.data.badgeChanged.user.unreadCount;

test('a query', async (t) => {
  const { viewer } = await ask(tokens.ada, unread);
  assert.deepEqual(await collect(connect(t).iterate({ query: unread })), [{ data: { viewer } }]);
});

test('a mutation with variables', async (t) => {
  const query = `mutation ($input: UpdateSettingsInput!) {
    updateSettings(input: $input) { settings { locale } userErrors { message } } }`;
  const results = await collect(connect(t).iterate({ query, variables: { input: { locale: 'pt-BR' } } }));
  assert.deepEqual(results, [{ data: { updateSettings: { settings: { locale: 'pt-BR' }, userErrors: [] } } }]);
});

test('a document that is not valid arrives as a result', async (t) => {
  const [result, ...others] = await collect(connect(t).iterate({ query: '{ nobody }' }));
  assert.equal(result.errors[0].extensions.code, 'GRAPHQL_VALIDATION_FAILED');
  assert.equal('data' in result, false);
  assert.deepEqual(others, []);
});

test('a subscription without a token arrives as a result', async (t) => {
  const [result, ...others] = await collect(connect(t, 'none').iterate({ query: badgeChanged }));
  assert.equal(result.errors[0].extensions.code, 'UNAUTHENTICATED');
  assert.deepEqual(others, []);
});

test('a badge follows what others do', { timeout: 30_000 }, async (t) => {
  const results = connect(t).iterate({ query: badgeChanged });
  const first = count((await results.next()).value);
  assert.equal(await dispatch(['ada', 'dara']), 2);
  assert.equal(count((await results.next()).value), first + 1);
  await ask(tokens.ada, 'mutation { markAllNotificationsRead(input: {}) { changedCount } }');
  assert.equal(count((await results.next()).value), 0);
  await results.return();
});

test('two subscriptions of one client', { timeout: 30_000 }, async (t) => {
  const client = connect(t);
  const query = 'subscription { inboxChanged { __typename user { unreadCount } } }';
  const badge = client.iterate({ query: badgeChanged });
  const inbox = client.iterate({ query });
  await badge.next();
  assert.equal((await inbox.next()).value.data.inboxChanged.__typename, 'InboxSnapshot');
  await dispatch(['ada']);
  await badge.next();
  assert.equal((await inbox.next()).value.data.inboxChanged.__typename, 'NotificationCreated');
});

test('a client that goes ends its request', { timeout: 30_000 }, async (t) => {
  // The log has a line for each request that has ended.
  const ended = async () => (await readFile(log, 'utf8')).match(/msg=request /g)?.length ?? 0;
  const isQuiet = async () => {
    const before = await ended();
    await delay(200);
    return (await ended()) === before;
  };
  await until(isQuiet); // the clients of the tests before this one have gone as well
  const results = connect(t).iterate({ query: badgeChanged });
  await results.next();
  const before = await ended();
  assert.ok(await isQuiet());
  await results.return();
  await until(async () => (await ended()) === before + 1);
});

/** An EventSource that may send headers, as those that are built on fetch do. */
function eventSource(t, query, headers = {}) {
  const address = new URL(url);
  address.searchParams.set('query', query);
  const authorization = `Bearer ${tokens.dara}`;
  const source = new EventSource(address, {
    fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization, ...headers } }),
  });
  t.after(() => source.close());
  return source;
}

/** The events of a source as they come. */
async function* events(source) {
  const queue = [];
  let wake = () => {};
  const listen = (event) => {
    queue.push(event);
    wake();
  };
  for (const type of ['next', 'complete', 'error']) source.addEventListener(type, listen);
  for (;;) {
    while (queue.length > 0) yield queue.shift();
    await new Promise((resolve) => (wake = resolve));
  }
}

test('EventSource: a query, and its end', { timeout: 30_000 }, async (t) => {
  const { viewer } = await ask(tokens.dara, unread);
  const source = eventSource(t, unread);
  const seen = events(source);
  const { value: next } = await seen.next();
  assert.equal(next.type, 'next');
  assert.deepEqual(JSON.parse(next.data), { data: { viewer } });
  const { value: complete } = await seen.next();
  assert.deepEqual([complete.type, complete.data], ['complete', '']);
});

test('EventSource: a live badge', { timeout: 30_000 }, async (t) => {
  const seen = events(eventSource(t, badgeChanged, { 'sec-fetch-site': 'same-origin' }));
  const badge = async () => count(JSON.parse((await seen.next()).value.data));
  const first = await badge();
  await dispatch(['dara']);
  assert.equal(await badge(), first + 1);
});

test('EventSource: no mutation, and nothing for pages of other origins', { timeout: 30_000 }, async (t) => {
  const refused = async (query, headers) => (await events(eventSource(t, query, headers)).next()).value;
  const mutation = await refused('mutation { __typename }');
  assert.deepEqual([mutation.type, mutation.code], ['error', 405]);
  const foreign = await refused(unread, { 'sec-fetch-site': 'cross-site' });
  assert.deepEqual([foreign.type, foreign.code], ['error', 403]);
});

test('a server that stops has its clients connect anew', { timeout: 60_000 }, async (t) => {
  const other = await startBelfry();
  const options = { url: other.url, retryAttempts: 1, retry: async () => {} };
  const connections = [];
  const client = connect(t, other.tokens.ada, { ...options, on: { connecting: (again) => connections.push(again) } });
  const results = client.iterate({ query: badgeChanged });
  assert.equal(count((await results.next()).value), 0);
  const stopped = other.stop();
  await assert.rejects(results.next()); // where nobody serves any more
  await stopped;
  assert.deepEqual(connections, [false, true]);
});
