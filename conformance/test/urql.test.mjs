// urql with graphcache and its relayPagination; subscriptions over graphql-ws, and over server-sent events.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { Client, fetchExchange, gql, subscriptionExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { buildSchema, introspectionFromSchema } from 'graphql';

import * as documents from '../documents.mjs';
import { connectSocket } from '../network.mjs';
import { belfry, newcomer } from '../server.mjs';
import { races, walk } from '../walk.mjs';

const { page, markRead, markReadOnly, markAllRead, remove, inboxChanged } = documents;
const contract = await readFile(new URL('../../schema.graphqls', import.meta.url), 'utf8');
const schema = introspectionFromSchema(buildSchema(contract));

/** The lists of a user that are in the cache, a field for each page. */
const pages = (cache, user) =>
  cache.inspectFields(cache.keyOfEntity(user)).filter(({ fieldName }) => fieldName === 'notifications');

const isUnread = ({ arguments: args }) => args?.filter?.status === 'UNREAD';

const edgesOf = (cache, user, { fieldKey }) => {
  const connection = cache.resolve(cache.keyOfEntity(user), fieldKey);
  return { connection, edges: cache.resolve(connection, 'edges') };
};

/** Keeps, of each page, the edges whose notification passes. */
function keep(cache, user, passes, isConcerned = () => true) {
  for (const field of pages(cache, user).filter(isConcerned)) {
    const { connection, edges } = edgesOf(cache, user, field);
    cache.link(connection, 'edges', edges.filter((edge) => passes(cache.resolve(edge, 'node'))));
  }
}

/** At the top of each list: the page of what was missed last, or else the first. */
function insert(cache, user, edge) {
  const node = cache.keyOfEntity(edge.node);
  for (const matches of [isUnread, (field) => !isUnread(field)]) {
    const fields = pages(cache, user).filter(matches);
    const top = fields.findLast(({ arguments: args }) => args.before) ?? fields.find(({ arguments: args }) => !args.after);
    if (!top) continue;
    const { connection, edges } = edgesOf(cache, user, top);
    if (edges.some((other) => cache.resolve(other, 'node') === node)) continue;
    cache.link(connection, 'edges', [cache.keyOfEntity(edge), ...edges]);
  }
}

const sweep = (cache, user) => keep(cache, user, (node) => cache.resolve(node, 'readAt') === null, isUnread);

function readByRule(cache, user, { through, readAt }) {
  keep(cache, user, (node) => {
    // Instants have a fixed width, so that they compare as text.
    if (through !== null && cache.resolve(node, 'createdAt') <= through && cache.resolve(node, 'readAt') === null) {
      const id = cache.resolve(node, 'id');
      cache.writeFragment(gql`fragment _ on Notification { id readAt }`, { __typename: 'Notification', id, readAt });
    }
    return true;
  });
  sweep(cache, user);
}

const drop = (cache, user, ids) => keep(cache, user, (node) => !ids.includes(cache.resolve(node, 'id')));

function apply(cache, event) {
  switch (event.__typename) {
    case 'NotificationCreated':
      return insert(cache, event.user, event.notificationEdge);
    case 'NotificationsUpdated':
      return sweep(cache, event.user);
    case 'AllNotificationsRead':
      return readByRule(cache, event.user, event);
    case 'NotificationsDeleted':
      return drop(cache, event.user, event.deletedIds);
  }
}

const graphcache = () => cacheExchange({
  schema,
  keys: {
    // The same in every list, so that an edge can be put into one by its key.
    NotificationEdge: ({ cursor }) => cursor,
    NotificationConnection: () => null,
    PageInfo: () => null,
  },
  // Outwards: pages asked for with `before` are listed ahead of the others.
  resolvers: { User: { notifications: relayPagination({ mergeMode: 'outwards' }) } },
  updates: {
    Mutation: {
      markNotificationsRead: ({ markNotificationsRead: { user } }, _, cache) => user && sweep(cache, user),
      markAllNotificationsRead: ({ markAllNotificationsRead: payload }, _, cache) => readByRule(cache, payload.user, payload),
      deleteNotifications: ({ deleteNotifications: { user, deletedIds } }, _, cache) => drop(cache, user, deletedIds),
    },
    Subscription: { inboxChanged: (result, _, cache) => apply(cache, result.inboxChanged) },
  },
});

function overSocket(t, token) {
  const { client } = connectSocket(t, token);
  const forwardSubscription = ({ query, variables }) => ({
    subscribe: (sink) => ({ unsubscribe: client.subscribe({ query, variables }, sink) }),
  });
  return { exchanges: [graphcache(), fetchExchange, subscriptionExchange({ forwardSubscription })] };
}

const overEvents = () => ({ exchanges: [graphcache(), fetchExchange], fetchSubscriptions: true });

function createClient(token, fetch, transport) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  return new Client({ url: belfry().url, fetch, fetchOptions: { headers }, preferGetMethod: false, ...transport });
}

/** Shows the result of a query as it changes. */
function watch(t, client, variables, see = () => {}) {
  const shown = { viewer: null };
  const subscription = client.query(page, variables).subscribe(({ data, error }) => {
    assert.equal(error, undefined);
    if (!data) return;
    shown.viewer = data.viewer;
    see(data.viewer);
  });
  t.after(() => subscription.unsubscribe());
  return shown;
}

const connectOver = (transport) => (t, token, fetch) => {
  const client = createClient(token, fetch, transport(t, token));
  const history = [];
  let list;
  let unread;
  const nodes = (shown) => shown.viewer?.notifications.edges.map(({ node }) => node) ?? [];
  const done = async (source) => {
    const { data, error } = await source.toPromise();
    if (error) throw error;
    return data;
  };
  return {
    open: (first) => (list = watch(t, client, { first }, ({ unreadCount }) => history.push(unreadCount))),
    openUnread: (first) => (unread = watch(t, client, { first, filter: { status: 'UNREAD' } })),
    nodes: () => nodes(list),
    unreadNodes: () => nodes(unread),
    badge: () => list.viewer?.unreadCount,
    history: () => history,
    start: () => list.viewer.notifications.edges[0].cursor,
    end: () => list.viewer.notifications.pageInfo.endCursor,
    more: (first, after) => done(client.query(page, { first, after }, { requestPolicy: 'network-only' })),
    catchUp: (before) => done(client.query(page, { last: 50, before }, { requestPolicy: 'network-only' })),
    listen: () =>
      new Promise((resolve, reject) => {
        const subscription = client.subscription(inboxChanged, {}).subscribe(({ error }) => {
          if (error) return reject(error);
          resolve(() => subscription.unsubscribe());
        });
        t.after(() => subscription.unsubscribe());
      }),
    markRead: (ids) => done(client.mutation(markRead, { ids })),
    markReadOnly: (ids) => done(client.mutation(markReadOnly, { ids })),
    markAllRead: (throughId) => done(client.mutation(markAllRead, { throughId })),
    remove: (ids) => done(client.mutation(remove, { ids })),
  };
};

test('an inbox, live over graphql-ws', (t) => walk(t, connectOver(overSocket)));

test('an inbox, live over server-sent events', (t) => walk(t, connectOver(overEvents)));

test('a late answer', (t) => races(t, connectOver(overSocket)));

test('errors', { timeout: 30_000 }, async () => {
  const codes = ({ error }) => error.graphQLErrors.map(({ extensions }) => extensions);
  const anonymous = createClient(null, fetch, overEvents());
  assert.deepEqual(codes(await anonymous.query(page, { first: 1 }).toPromise()), [{ code: 'UNAUTHENTICATED' }]);
  const live = await anonymous.subscription(documents.badgeChanged, {}).toPromise();
  assert.deepEqual(codes(live), [{ code: 'UNAUTHENTICATED' }]);
  const client = createClient(newcomer().token, fetch, overEvents());
  const tooMany = await client.query(page, { first: 101 }).toPromise();
  assert.deepEqual(codes(tooMany), [{ code: 'BAD_USER_INPUT', argument: 'first' }]);
  const { data } = await client.mutation(markReadOnly, { ids: [] }).toPromise();
  assert.deepEqual(data.markNotificationsRead.userErrors.map(({ code }) => code), ['INVALID']);
});
