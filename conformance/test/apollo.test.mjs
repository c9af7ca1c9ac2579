// Apollo Client over HTTP and graphql-ws, with its own relayStylePagination.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ApolloClient, ApolloLink, CombinedGraphQLErrors, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { relayStylePagination } from '@apollo/client/utilities';
import { OperationTypeNode } from 'graphql';
import { WebSocket } from 'ws';

import * as documents from '../documents.mjs';
import { connectSocket } from '../network.mjs';
import { belfry, newcomer } from '../server.mjs';
import { races, walk } from '../walk.mjs';

const { page, markRead, markReadOnly, markAllRead, remove, inboxChanged } =
  Object.fromEntries(Object.entries(documents).map(([name, text]) => [name, gql(text)]));

// GraphQLWsLink looks at a constant of the global one when an operation fails. Node has it from version 22 on.
globalThis.WebSocket ??= WebSocket;

const possibleTypes = {
  InboxEvent: ['InboxSnapshot', 'NotificationCreated', 'NotificationsUpdated', 'AllNotificationsRead', 'NotificationsDeleted'],
};

function createClient(t, token, fetch = globalThis.fetch) {
  const socket = connectSocket(t, token).client;
  const http = new HttpLink({ uri: belfry().url, fetch, headers: token && { authorization: `Bearer ${token}` } });
  const isSubscription = ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION;
  const client = new ApolloClient({
    link: ApolloLink.split(isSubscription, new GraphQLWsLink(socket), http),
    cache: new InMemoryCache({
      possibleTypes,
      typePolicies: { User: { fields: { notifications: relayStylePagination(['filter']) } } },
    }),
  });
  t.after(() => client.stop());
  return client;
}

/** Changes the edges of each list that is in the cache. */
function eachList(cache, user, change) {
  cache.modify({
    id: cache.identify(user),
    fields: {
      notifications: (list, { readField, storeFieldName }) => {
        const isUnread = storeFieldName.includes('UNREAD');
        return { ...list, edges: change(list.edges, isUnread, readField) };
      },
    },
  });
}

function insert(cache, user, edge) {
  const node = { __ref: cache.identify(edge.node) };
  eachList(cache, user, (edges, _, readField) => {
    const has = edges.some((other) => readField('id', other.node) === edge.node.id);
    return has ? edges : [{ ...edge, node }, ...edges];
  });
}

/** What has been read leaves the lists of what is unread. */
function sweep(cache, user) {
  eachList(cache, user, (edges, isUnread, readField) =>
    isUnread ? edges.filter(({ node }) => readField('readAt', node) === null) : edges);
}

function readByRule(cache, user, { through, readAt }) {
  // Instants have a fixed width, so that they compare as text.
  for (const [id, { __typename, createdAt }] of Object.entries(cache.extract())) {
    if (__typename !== 'Notification' || through === null || createdAt > through) continue;
    cache.modify({ id, fields: { readAt: (was) => was ?? readAt } });
  }
  sweep(cache, user);
}

function evict(cache, ids) {
  for (const id of ids) cache.evict({ id: cache.identify({ __typename: 'Notification', id }) });
  cache.gc();
}

function apply(cache, event) {
  switch (event.__typename) {
    case 'NotificationCreated':
      return insert(cache, event.user, event.notificationEdge);
    case 'NotificationsUpdated':
      return sweep(cache, event.user);
    case 'AllNotificationsRead':
      return readByRule(cache, event.user, event);
    case 'NotificationsDeleted':
      return evict(cache, event.deletedIds);
  }
}

/** Shows the result of a query as it changes. */
function watch(t, client, options, see = () => {}) {
  const observable = client.watchQuery({ query: page, ...options });
  const shown = { viewer: null, observable };
  const subscription = observable.subscribe(({ data, dataState }) => {
    if (dataState !== 'complete') return;
    shown.viewer = data.viewer;
    see(data.viewer);
  });
  t.after(() => subscription.unsubscribe());
  return shown;
}

function connect(t, token, fetch) {
  const client = createClient(t, token, fetch);
  const { cache } = client;
  const history = [];
  let list;
  let unread;
  const nodes = (shown) => shown.viewer?.notifications.edges.map(({ node }) => node) ?? [];
  const mutate = async (mutation, variables, update) => {
    const { data } = await client.mutate({ mutation, variables, update });
    return Object.values(data)[0];
  };
  return {
    open: (first) => (list = watch(t, client, { variables: { first } }, ({ unreadCount }) => history.push(unreadCount))),
    openUnread: (first) => (unread = watch(t, client, { variables: { first, filter: { status: 'UNREAD' } } })),
    nodes: () => nodes(list),
    unreadNodes: () => nodes(unread),
    badge: () => list.viewer?.unreadCount,
    history: () => history,
    start: () => list.viewer.notifications.edges[0].cursor,
    end: () => list.viewer.notifications.pageInfo.endCursor,
    more: (first, after) => list.observable.fetchMore({ variables: { first, after } }),
    catchUp: (before) => list.observable.fetchMore({ variables: { first: undefined, last: 50, before } }),
    listen: () =>
      new Promise((resolve, reject) => {
        const subscription = client.subscribe({ query: inboxChanged }).subscribe(({ data, error }) => {
          if (error) return reject(error);
          apply(cache, data.inboxChanged);
          resolve(() => subscription.unsubscribe());
        });
        t.after(() => subscription.unsubscribe());
      }),
    markRead: (ids) =>
      mutate(markRead, { ids }, (_, { data }) => sweep(cache, data.markNotificationsRead.user)),
    markReadOnly: (ids) => mutate(markReadOnly, { ids }),
    markAllRead: (throughId) =>
      mutate(markAllRead, { throughId }, (_, { data }) =>
        readByRule(cache, data.markAllNotificationsRead.user, data.markAllNotificationsRead)),
    remove: (ids) =>
      mutate(remove, { ids }, (_, { data }) => evict(cache, data.deleteNotifications.deletedIds)),
  };
}

test('an inbox', (t) => walk(t, connect));

test('a late answer', async (t) => {
  await races(t, connect);
});

const firstValue = (observable) => new Promise((next, error) => observable.subscribe({ next, error }));

test('errors', { timeout: 30_000 }, async (t) => {
  const codes = (error) => {
    assert.ok(CombinedGraphQLErrors.is(error), `${error}`);
    return error.errors.map(({ extensions }) => extensions);
  };
  const anonymous = createClient(t, null);
  const failed = await anonymous.query({ query: page, variables: { first: 1 } }).catch((error) => error);
  assert.deepEqual(codes(failed), [{ code: 'UNAUTHENTICATED' }]);
  const live = await firstValue(anonymous.subscribe({ query: inboxChanged }));
  assert.deepEqual(codes(live.error), [{ code: 'UNAUTHENTICATED' }]);
  const client = createClient(t, newcomer().token);
  const tooMany = await client.query({ query: page, variables: { first: 101 } }).catch((error) => error);
  assert.deepEqual(codes(tooMany), [{ code: 'BAD_USER_INPUT', argument: 'first' }]);
  const { data } = await client.mutate({ mutation: markRead, variables: { ids: [] } });
  assert.deepEqual(data.markNotificationsRead.userErrors.map(({ code }) => code), ['INVALID']);
});
