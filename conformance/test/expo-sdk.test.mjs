// Expo's own SDK against `belfry expo-sim`: what it takes from Expo it has to take from the simulator.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { belfry } from '../server.mjs';

const patience = 60_000; // ms
const accessToken = 'sesame';
const simulator = await startSimulator();
after(simulator.stop);

// The SDK reads its address when it is loaded.
process.env.EXPO_BASE_URL = simulator.url;
const { Expo } = await import('expo-server-sdk');
const expo = new Expo({ accessToken, retryMinTimeout: 100 });

async function startSimulator() {
  const args = ['expo-sim', '--listen', '127.0.0.1:0', '--expo-access-token', accessToken, '--log-level', 'warn'];
  const child = spawn(belfry().binary, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let greeting = '';
  const greeted = new Promise((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      greeting += text;
      const [, url] = greeting.match(/answers at (\S+)\n/) ?? [];
      if (url) resolve(url);
    });
  });
  const url = await Promise.race([greeted, exited, delay(patience, undefined, { ref: false })]);
  const stop = async () => {
    child.kill('SIGTERM');
    assert.equal(await exited, 0);
  };
  if (typeof url === 'string') return { url, stop };
  child.kill('SIGKILL');
  throw new Error('belfry expo-sim does not serve');
}

const token = (name) => `ExponentPushToken[${name}]`;
const messages = (n, prefix = 'device') => Array.from({ length: n }, (_, i) => ({ to: token(`${prefix}${i}`), body: 'b' }));
const recipients = (chunk) => chunk.reduce((n, { to }) => n + (Array.isArray(to) ? to.length : 1), 0);

async function deliveries(toTokens) {
  const response = await fetch(`${simulator.url}/deliveries`);
  return (await response.json()).deliveries.filter((d) => toTokens.includes(d.token));
}

test('tickets come in the order of the recipients', async () => {
  const to = ['a', 'b-unregistered', 'c', 'd'].map((name) => token(`order-${name}`));
  const tickets = await expo.sendPushNotificationsAsync([
    { to: to[0], title: 'hello', body: 'world', sound: 'default', badge: 3, data: { a: 1 }, priority: 'high', ttl: 3600 },
    { to: to[1], body: '😀' },
    { to: [to[2], to[3]], body: 'Breaking news!', richContent: { image: 'https://example.com/a.png' } },
  ]);
  assert.deepEqual(tickets.map(({ status }) => status), ['ok', 'error', 'ok', 'ok']);
  assert.deepEqual(tickets[1].details, { error: 'DeviceNotRegistered', expoPushToken: to[1] });
  const shown = await deliveries(to);
  assert.deepEqual(shown.map((d) => d.token), [to[0], to[2], to[3]]);
  assert.deepEqual(shown.map((d) => d.ticketId), [tickets[0].id, tickets[2].id, tickets[3].id]);
  assert.deepEqual([shown[0].title, shown[0].body, shown[0].badge, shown[0].data], ['hello', 'world', 3, { a: 1 }]);
});

test('one message alone', async () => {
  const [ticket] = await expo.sendPushNotificationsAsync([{ to: token('alone') }]);
  assert.equal(ticket.status, 'ok');
});

test('the chunks of messages', async () => {
  const sizes = (list) => expo.chunkPushNotifications(list).map(recipients);
  const many = { to: messages(250).map(({ to }) => to), body: 'b' };
  assert.deepEqual(sizes([many]), [100, 100, 50]);
  assert.deepEqual(sizes([...messages(99), { to: [token('x'), token('y')] }]), [100, 1]);
  assert.deepEqual(sizes([{ to: [] }]), []);

  const chunks = expo.chunkPushNotifications([many]);
  const tickets = (await Promise.all(chunks.map((chunk) => expo.sendPushNotificationsAsync(chunk)))).flat();
  assert.equal(tickets.filter(({ status }) => status === 'ok').length, 250);
});

test('gzip, from 1,024 characters', async () => {
  const to = token('gzip');
  for (const length of [10, 1024, 4000]) await expo.sendPushNotificationsAsync([{ to, body: 'é'.repeat(length / 2) }]);
  assert.deepEqual((await deliveries([to])).map(({ body }) => body.length), [5, 512, 2000]);
});

test('receipts', async () => {
  const codes = {
    gone: 'DeviceNotRegistered', big: 'MessageTooBig', rate: 'MessageRateExceeded', mismatch: 'MismatchSenderId',
    credentials: 'InvalidCredentials', developer: 'DeveloperError', expo: 'ExpoError', fcm: 'ProviderError', apns: 'ProviderError',
  };
  const names = ['fine', 'device-lost', ...Object.keys(codes).map((word) => `device-${word}`)];
  const tickets = await expo.sendPushNotificationsAsync(names.map((name) => ({ to: token(name) })));
  const ids = tickets.map(({ id }) => id);
  const receipts = await expo.getPushNotificationReceiptsAsync([...ids, 'unknown']);
  assert.deepEqual(ids.map((id) => receipts[id]?.details?.error), [undefined, undefined, ...Object.values(codes)]);
  assert.deepEqual([receipts[ids[0]], receipts[ids[1]], receipts.unknown], [{ status: 'ok' }, undefined, undefined]);
});

test('the chunks of receipts', async () => {
  const ids = Array.from({ length: 601 }, (_, i) => `id-${i}`);
  const chunks = expo.chunkPushNotificationReceiptIds(ids);
  assert.deepEqual(chunks.map(({ length }) => length), [300, 300, 1]);
  for (const chunk of chunks) assert.deepEqual(await expo.getPushNotificationReceiptsAsync(chunk), {});
  await assert.rejects(expo.getPushNotificationReceiptsAsync([...ids, ...ids]), { code: 'PUSH_TOO_MANY_RECEIPTS', statusCode: 400 });
});

test('a message that is too big', async () => {
  const send = async (body) => {
    const [{ id }] = await expo.sendPushNotificationsAsync([{ to: token('big'), body }]);
    return (await expo.getPushNotificationReceiptsAsync([id]))[id].details?.error;
  };
  assert.equal(await send('😀'.repeat(1024)), undefined);
  assert.equal(await send('😀'.repeat(1025)), 'MessageTooBig');
});

test('errors of a whole request', async (t) => {
  const tests = {
    'malformed': { list: [{ to: 'no token' }], want: { code: 'VALIDATION_ERROR', statusCode: 400 } },
    '101 messages': { list: messages(101), want: { code: 'PUSH_TOO_MANY_NOTIFICATIONS', statusCode: 400 } },
    'two projects': {
      list: [{ to: token('shop:a') }, { to: token('bank:b') }],
      want: {
        code: 'PUSH_TOO_MANY_EXPERIENCE_IDS', statusCode: 400,
        details: { '@belfry/shop': [token('shop:a')], '@belfry/bank': [token('bank:b')] },
      },
    },
    '400': { list: [{ to: token('a-400') }], want: { code: 'VALIDATION_ERROR', statusCode: 400 } },
    '401': { list: [{ to: token('a-401') }], want: { statusCode: 401, errorData: { error: 'invalid_token', error_description: 'The bearer token is invalid' } } },
    '413': { list: [{ to: token('a-413') }], want: { statusCode: 413, errorText: /<html>/ } },
    '429': { list: [{ to: token('a-429') }], want: { code: 'TOO_MANY_REQUESTS', statusCode: 429 } },
    '500': { list: [{ to: token('a-500') }], want: { code: 'INTERNAL_SERVER_ERROR', statusCode: 500 } },
    '504': { list: [{ to: token('a-504') }], want: { statusCode: 504, errorText: /<html>/ } },
    'HTML': { list: [{ to: token('a-html') }], want: { statusCode: 200, errorText: /<html>/ } },
    '200 with errors': { list: [{ to: token('a-errors') }], want: { code: 'INTERNAL_SERVER_ERROR', statusCode: 200 } },
    'half a document': { list: [{ to: token('a-garbage') }], want: { statusCode: 200, errorText: /"data"/ } },
    'one ticket too few': { list: [{ to: token('a-short') }], want: { message: /Expected Expo to respond with 1 ticket but got 0/ } },
    'one ticket too many': { list: [{ to: token('a-long') }], want: { message: /Expected Expo to respond with 1 ticket but got 2/ } },
    'a reset': { list: [{ to: token('a-reset') }], want: { message: /fetch failed/ } },
    'a cut': { list: [{ to: token('a-cut') }], want: { message: /fetch failed/ } },
  };
  for (const [name, { list, want }] of Object.entries(tests)) {
    await t.test(name, () => assert.rejects(expo.sendPushNotificationsAsync(list), want));
  }
  assert.equal((await deliveries([token('a-504')])).length, 1, 'a 504 was delivered all the same');
});

test('the bearer token', async () => {
  const list = [{ to: token('bearer') }];
  await assert.rejects(new Expo().sendPushNotificationsAsync(list), { code: 'UNAUTHORIZED', statusCode: 403 });
  const stranger = new Expo({ accessToken: 'open' });
  await assert.rejects(stranger.sendPushNotificationsAsync(list), { statusCode: 401 });
  await assert.rejects(stranger.getPushNotificationReceiptsAsync(['x']), { statusCode: 401 });
});

test('600 messages a second and project', async () => {
  const patient = new Expo({ accessToken, retryMinTimeout: 1000 });
  const impatient = new Expo({ accessToken, retryMinTimeout: 1 });
  const chunks = impatient.chunkPushNotifications(messages(2000, 'rate:device'));
  const all = await Promise.allSettled(chunks.map((chunk) => impatient.sendPushNotificationsAsync(chunk)));
  const refused = all.filter(({ status }) => status === 'rejected');
  assert.ok(refused.length > 0 && refused.length <= 14, `${refused.length} of 20 refused`);
  for (const { reason } of refused) assert.equal(reason.code, 'TOO_MANY_REQUESTS');
  // Whoever waits as the SDK does by default gets through.
  assert.equal((await patient.sendPushNotificationsAsync(chunks[0])).length, 100);
});
