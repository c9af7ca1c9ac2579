// A day of an inbox, the same for each client: what it shows after each step, and what it asked for to show it.
import assert from 'node:assert/strict';

import { countedFetch } from './network.mjs';
import { fetchNewest } from './newest.mjs';
import { ask, dispatch, newcomer, until } from './server.mjs';

const reads = 'mutation ($ids: [ID!]!) { markNotificationsRead(input: {ids: $ids}) { changedIds } }';
const deletes = 'mutation ($ids: [ID!]!) { deleteNotifications(input: {ids: $ids}) { deletedIds } }';
const options = { timeout: 30_000 };
const pageSize = 3;

/** A list in one line: titles, those of what is unread with a star. */
const line = (nodes) => nodes.map(({ title, readAt }) => title + (readAt === null ? '*' : '')).join(' ');

/**
 * Walks a client through it. `connect(t, token, fetch)` returns the client's inbox:
 *   open(first), openUnread(first)   begin to show a list, and the badge
 *   nodes(), unreadNodes(), badge()  what is shown
 *   listen()                         follows inboxChanged, resolves with the first event to what ends it
 *   end(), more(first, after)        the last cursor; the page after one
 *   start(), catchUp(before)         the first cursor; what has come since
 *   markRead(ids), remove(ids), markAllRead(throughId)
 */
export async function walk(t, connect) {
  const { user, token } = newcomer();
  const network = countedFetch();
  const inbox = await connect(t, token, network.fetch);
  const elsewhere = (mutation, variables) => ask(token, mutation, variables);
  const tell = (...titles) => each(titles, (title) => dispatch([user], { title }));
  const idOf = (wanted) => inbox.nodes().find(({ title }) => title === wanted).id;
  const steps = [];

  /** Does something, waits for what is to be seen, and counts the requests. Late ones are the next step's fault. */
  const step = (name, act, { list, unread, badge, requests = [] }) =>
    t.test(name, options, async () => {
      await act();
      const shown = () => [inbox.badge(), line(inbox.nodes()), unread && line(inbox.unreadNodes())];
      const want = [badge, list, unread];
      const matches = () => shown().every((value, i) => value === want[i]);
      await until(matches, name, 5000).catch(() => assert.deepEqual(shown(), want));
      const taken = network.taken();
      steps.push({ step: name, requests: taken.join(' ') || 'none' });
      assert.deepEqual(taken, requests);
    });
  t.after(() => console.table(steps));

  await tell('a', 'b', 'c', 'd', 'e', 'f');
  let after;
  let before;
  let stop;
  await step('a page and the badge', () => inbox.open(pageSize), { list: 'f* e* d*', badge: 6, requests: ['query'] });
  await step('the next page', () => inbox.more(pageSize, (after = inbox.end())),
    { list: 'f* e* d* c* b* a*', badge: 6, requests: ['query'] });
  await step('T-34: the same page asked for again is there once', () => inbox.more(pageSize, after),
    { list: 'f* e* d* c* b* a*', badge: 6, requests: ['query'] });
  await step('one is read', () => inbox.markRead([idOf('f')]),
    { list: 'f e* d* c* b* a*', badge: 5, requests: ['mutation'] });
  await step('one is deleted', () => inbox.remove([idOf('e')]),
    { list: 'f d* c* b* a*', badge: 4, requests: ['mutation'] });

  await step('the subscription begins', async () => (stop = await inbox.listen()), { list: 'f d* c* b* a*', badge: 4 });
  before = inbox.start();
  await step('a notification comes', () => tell('g'), { list: 'g* f d* c* b* a*', badge: 5 });
  await step('T-39: what came by the subscription and comes by the list is there once', () => inbox.catchUp(before),
    { list: 'g* f d* c* b* a*', badge: 5, requests: ['query'] });
  await step('T-03: another tab reads one of the second page', () => elsewhere(reads, { ids: [idOf('c')] }),
    { list: 'g* f d* c b* a*', badge: 4 });
  await step('another tab deletes one of the second page', () => elsewhere(deletes, { ids: [idOf('b')] }),
    { list: 'g* f d* c a*', badge: 3 });

  // While nothing is told, so that each change is the answer's.
  stop();
  await step('the list of what is unread', () => inbox.openUnread(50),
    { list: 'g* f d* c a*', unread: 'g* d* a*', badge: 3, requests: ['query'] });
  await step('what is read leaves it', () => inbox.markRead([idOf('a')]),
    { list: 'g* f d* c a', unread: 'g* d*', badge: 2, requests: ['mutation'] });
  await step('everything up to one is read, by the rule', () => inbox.markAllRead(idOf('f')),
    { list: 'g* f d c a', unread: 'g*', badge: 1, requests: ['mutation'] });

  before = inbox.start();
  await tell('h', 'i');
  await step('T-35: what was missed is put in by its cursors', () => inbox.catchUp(before),
    { list: 'i* h* g* f d c a', badge: 3, requests: ['query'] });
  await step('the subscription begins again', () => inbox.listen(), { list: 'i* h* g* f d c a', badge: 3 });
  await step('one more comes, to both lists', () => tell('j'),
    { list: 'j* i* h* g* f d c a', unread: 'j* g*', badge: 4 });
  await step('another tab reads everything', () => elsewhere('mutation { markAllNotificationsRead(input: {}) { changedCount } }'),
    { list: 'j i h g f d c a', unread: '', badge: 0 });

  await t.test('T-13: another client, that begins now, shows the same', options, async (t) => {
    const other = await connect(t, token, network.fetch);
    await other.open(50);
    await until(() => line(other.nodes()) === 'j i h g f d c a' && other.badge() === 0);
    assert.deepEqual(network.taken(), ['query']);
  });
}

async function each(values, act) {
  for (const value of values) await act(value);
}

/**
 * T-01: of five, two are read in quick succession, and the answer to the first comes last. `mark` is the name of what
 * reads one. Returns the badges that were shown meanwhile.
 */
async function race(t, connect, mark, isLive) {
  const { user, token } = newcomer();
  await each(['a', 'b', 'c', 'd', 'e'], (title) => dispatch([user], { title }));
  const network = countedFetch();
  const inbox = await connect(t, token, isLive ? network.fetch : fetchNewest(network.fetch));
  await inbox.open(5);
  if (isLive) await inbox.listen();
  await until(() => inbox.badge() === 5);
  const [first, second] = inbox.nodes();
  const badges = inbox.history();
  const before = badges.length;
  const answered = network.delayNext(300);
  const late = inbox[mark]([first.id]);
  await answered;
  await inbox[mark]([second.id]);
  await until(() => inbox.badge() === 3);
  await late;
  return badges.slice(before);
}

/** T-01 in both ways that an app can have its badge: from the subscription alone, or from payloads too. */
export async function races(t, connect) {
  await t.test('T-01: a badge that the subscription alone writes ends right and never rises', options, async (t) => {
    const badges = await race(t, connect, 'markReadOnly', true);
    assert.equal(badges.at(-1), 3);
    assert.deepEqual(badges, badges.toSorted((a, b) => b - a));
  });

  await t.test('T-01: a late answer does not overwrite a newer count', options, async (t) => {
    const badges = await race(t, connect, 'markRead', false);
    assert.equal(badges.at(-1), 3);
    assert.deepEqual(badges, badges.toSorted((a, b) => b - a));
  });
}
