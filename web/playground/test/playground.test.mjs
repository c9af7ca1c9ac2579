import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { join } from 'node:path';
import { ask, startBelfry } from './belfry.mjs';
import { launch, openPage } from './browser.mjs';

let belfry, browser, page, faults;

before(async () => {
  belfry = await startBelfry();
  browser = await launch();
  ({ page, faults } = await openPage(browser, belfry.base));
  await page.goto(`${belfry.base}/`);
});
after(async () => {
  await browser?.close();
  await belfry?.stop();
});

const openTab = (name) => page.getByRole('tab', { name }).click();
const execute = () => page.locator('.graphiql-execute-button').click();

// Waits until an editor, which shows non-breaking spaces, matches.
async function shows(editor, pattern) {
  const text = async () => (await editor.locator('.view-lines').innerText()).replaceAll(/\s+/g, ' ');
  for (const end = Date.now() + 20_000; Date.now() < end; await page.waitForTimeout(50)) {
    if (pattern.test(await text())) return;
  }
  assert.fail(`${await text()} does not match ${pattern}`);
}
const answers = (pattern) => shows(page.locator('.graphiql-response'), pattern);

// Keeps a picture where SCREENSHOTS names a directory.
async function picture(name) {
  if (process.env.SCREENSHOTS) {
    await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
  }
}

const unread = async () => {
  const data = await ask(belfry, '{ user(userId: "ada") { unreadCount } }');
  return data.user.unreadCount;
};

test('the root leads to the playground', async () => {
  assert.equal(page.url(), `${belfry.base}/playground`);
  await page.locator('.graphiql-query-editor .view-lines').waitFor();
});

test('the first tab shows ada her inbox', async () => {
  await execute();
  await answers(new RegExp(`"unreadCount": ${await unread()},.*"title": "`));
  await picture('query');
});

test('the badge is live', async () => {
  await openTab('BadgeChanged');
  const before = await unread();
  await execute();
  await answers(new RegExp(`"unreadCount": ${before},`));
  const event = { runId: 'playground', kind: 'test', category: 'tests', title: 'Hello', recipients: ['ada'] };
  await ask(belfry, 'mutation ($input: DispatchInput!) { dispatch(input: $input) { createdCount } }', { input: event });
  await answers(new RegExp(`"unreadCount": ${before + 1},`));
  await picture('badge');
});

test('the page dispatches', async () => {
  await openTab('Dispatch');
  await execute();
  await answers(/"status": "CREATED"/);
  await execute();
  await answers(/"status": "DUPLICATE"/);
  await picture('dispatch');
});

test('the editor knows the schema, and a new tab has the token', async () => {
  await page.getByRole('button', { name: 'New tab' }).click();
  const editor = page.locator('.graphiql-query-editor');
  await editor.click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.type('{viewer{unr'); // the editor closes the brackets
  await page.keyboard.press('Control+Space');
  await page.locator('.suggest-widget').getByText('unreadCount').first().waitFor();
  await picture('completion');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /prettify/i }).click();
  await shows(editor, /\{ viewer \{ unreadCount \} \}/);
  await execute();
  await answers(/"unreadCount": \d+/);
});

test('the documentation is that of the schema', async () => {
  await page.getByRole('button', { name: /documentation explorer/i }).click();
  await page.locator('.graphiql-doc-explorer').getByText('BadgePayload', { exact: true }).click();
  await page.getByText('The viewer with the new counts.').waitFor();
  await picture('documentation');
});

test('the token is not kept', async () => {
  await page.waitForTimeout(1000); // GraphiQL stores its tabs half a second after a change
  const stored = await page.evaluate(() => JSON.stringify(localStorage));
  assert.match(stored, /belfry:graphiql:tabState/);
  assert.doesNotMatch(stored, /Bearer|eyJ/);
});

test('a reload keeps the tabs and has a token', async () => {
  await page.reload();
  await openTab('Inbox');
  await execute();
  await answers(/"title": "/);
  await openTab('BadgeChanged');
  await execute();
  await answers(/"unreadCount": \d+/);
});

test('nothing went wrong on the way', () => assert.deepEqual(faults, []));
