// Relay: relay-compiler over the contract, and relay-runtime as the client, over HTTP and graphql-ws.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFile, mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import {
  commitMutation, createOperationDescriptor, Environment, fetchQuery, getSingularSelector, Network, Observable,
  RecordSource, requestSubscription, Store,
} from 'relay-runtime';

import { connectSocket } from '../network.mjs';
import { belfry, newcomer } from '../server.mjs';
import { races, walk } from '../walk.mjs';

let documents;

before(async () => {
  const here = fileURLToPath(new URL('..', import.meta.url));
  await mkdir(`${here}/relay/__generated__`, { recursive: true });
  // The compiler takes no notice of a schema whose name does not end in .graphql.
  await copyFile(`${here}/../schema.graphqls`, `${here}/relay/schema.graphql`);
  // What does not compile fails every test here.
  execFileSync(`${here}/node_modules/.bin/relay-compiler`, ['relay.config.json'], { cwd: here });
  documents = createRequire(import.meta.url)('../relay/inbox.js');
});

function createEnvironment(t, token, fetch = globalThis.fetch) {
  const socket = connectSocket(t, token).client;
  const authorization = token ? { authorization: `Bearer ${token}` } : {};
  const ask = async ({ name: operationName, text: query }, variables) => {
    const headers = { 'content-type': 'application/json', ...authorization };
    const body = JSON.stringify({ operationName, query, variables });
    return (await fetch(belfry().url, { method: 'POST', headers, body })).json();
  };
  const follow = ({ name: operationName, text: query }, variables) =>
    Observable.create((sink) => socket.subscribe({ operationName, query, variables }, sink));
  return new Environment({ network: Network.create(ask, follow), store: new Store(new RecordSource()) });
}

/** What has been read leaves a list of what is unread. */
function sweep(store, list) {
  const connection = list && store.get(list.id());
  const edges = connection?.getLinkedRecords('edges');
  connection?.setLinkedRecords(edges.filter((edge) => edge.getLinkedRecord('node').getValue('readAt') === null), 'edges');
}

function readByRule(store, lists, payload) {
  const through = payload.getValue('through');
  const edges = lists.flatMap((list) => store.get(list.id()).getLinkedRecords('edges'));
  for (const node of edges.map((edge) => edge.getLinkedRecord('node'))) {
    // Instants have a fixed width, so that they compare as text.
    const isMeant = through !== null && node.getValue('createdAt') <= through && node.getValue('readAt') === null;
    if (isMeant) node.setValue(payload.getValue('readAt'), 'readAt');
  }
}

/** Shows a list as it changes. */
function watch(t, environment, user, see = () => {}) {
  const selector = getSingularSelector(documents.list, user);
  const snapshot = environment.lookup(selector);
  let { data } = snapshot;
  const show = (next) => see((data = next.data));
  show(snapshot);
  const subscription = environment.subscribe(snapshot, show);
  t.after(() => subscription.dispose());
  return { data: () => data, id: () => data.notifications.__id };
}

function connect(t, token, fetch) {
  const environment = createEnvironment(t, token, fetch);
  const history = [];
  let list;
  let unread;
  const lists = () => [list, unread].filter(Boolean);
  const listIds = () => lists().map((shown) => shown.id());
  const nodes = (shown) => shown?.data().notifications.edges.map(({ node }) => node) ?? [];
  const open = async (variables, see) => {
    const retained = environment.retain(createOperationDescriptor(documents.open, variables));
    t.after(() => retained.dispose());
    const { viewer } = await fetchQuery(environment, documents.open, variables).toPromise();
    return watch(t, environment, viewer, see);
  };
  const refetch = (variables) => {
    const { id } = list.data();
    return fetchQuery(environment, documents.list.metadata.refetch.operation, { id, ...variables }).toPromise();
  };
  const mutate = (mutation, variables, updater) =>
    new Promise((resolve, reject) => {
      commitMutation(environment, { mutation, variables, updater, onCompleted: resolve, onError: reject });
    });
  const apply = (store) => {
    const event = store.getRootField('inboxChanged');
    if (event.getType() === 'AllNotificationsRead') readByRule(store, lists(), event);
    sweep(store, unread);
  };
  return {
    open: async (first) => (list = await open({ first }, ({ unreadCount }) => history.push(unreadCount))),
    openUnread: async (first) => (unread = await open({ first, filter: { status: 'UNREAD' } })),
    nodes: () => nodes(list),
    unreadNodes: () => nodes(unread),
    badge: () => list?.data().unreadCount,
    history: () => history,
    // Not the first edge's: Relay drops what is asked for before another cursor than this one.
    start: () => list.data().notifications.pageInfo.startCursor,
    end: () => list.data().notifications.pageInfo.endCursor,
    more: (first, after) => refetch({ first, after }),
    catchUp: (before) => refetch({ last: 50, before }),
    listen: () =>
      new Promise((resolve, reject) => {
        const subscription = requestSubscription(environment, {
          subscription: documents.changed,
          variables: { lists: listIds() },
          updater: apply,
          onNext: () => resolve(() => subscription.dispose()),
          onError: reject,
        });
        t.after(() => subscription.dispose());
      }),
    markRead: (ids) => mutate(documents.markRead, { ids, unread: unread ? [unread.id()] : [] }),
    markReadOnly: (ids) => mutate(documents.markReadOnly, { ids }),
    markAllRead: (throughId) =>
      mutate(documents.markAllRead, { throughId }, (store) => {
        readByRule(store, lists(), store.getRootField('markAllNotificationsRead'));
        sweep(store, unread);
      }),
    remove: (ids) => mutate(documents.remove, { ids, lists: listIds() }),
  };
}

test('an inbox', (t) => walk(t, connect));

test('a late answer', (t) => races(t, connect));

test('errors', { timeout: 30_000 }, async (t) => {
  const codes = async (token, first) => {
    const { viewer } = await fetchQuery(createEnvironment(t, token), documents.caught, { first }).toPromise();
    return viewer.errors.map(({ extensions }) => extensions);
  };
  assert.deepEqual(await codes(null, 1), [{ code: 'UNAUTHENTICATED' }]);
  assert.deepEqual(await codes(newcomer().token, 101), [{ code: 'BAD_USER_INPUT', argument: 'first' }]);
  const [{ extensions }] = await assertFails(connect(t, null).listen());
  assert.equal(extensions.code, 'UNAUTHENTICATED');
  const { markNotificationsRead } = await connect(t, newcomer().token).markReadOnly([]);
  assert.deepEqual(markNotificationsRead.userErrors, [{ code: 'INVALID' }]);
});

async function assertFails(promise) {
  return promise.then(() => assert.fail('it does not fail'), (error) => error);
}
