// GraphQL over HTTP: the audits of graphql-http, every one of which has to pass, whether its word is MUST,
// SHOULD or MAY.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { serverAudits } from 'graphql-http';

import { belfry } from '../server.mjs';

const levels = {};

for (const { id, name, fn } of serverAudits({ url: belfry().url })) {
  test(`${id} ${name}`, async () => {
    const { status, reason } = await fn();
    const [level] = name.split(' ');
    levels[level] ??= { ok: 0, notice: 0, warn: 0, error: 0 };
    levels[level][status]++;
    assert.equal(status, 'ok', reason);
  });
}

test('there are 61 audits', () => {
  const total = Object.values(levels).flatMap(Object.values).reduce((sum, n) => sum + n, 0);
  assert.equal(total, 61);
});

after(() => console.table(levels));
