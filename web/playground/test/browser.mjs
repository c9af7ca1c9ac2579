// Chromium without the network, and a record of what a page must not do.
import { chromium } from 'playwright-core';

const flags = [
  // No name leads anywhere, and Chromium itself asks no host of its own.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--component-updater=url-source=http://127.0.0.1:9/',
  // Replaces Playwright's list.
  '--disable-features=AutofillServerCommunication,OptimizationHints,NetworkTimeServiceQuerying,MediaRouter,' +
    'DialMediaRouteProvider,Translate,PaintHolding,HttpsUpgrades',
];

// CHROMIUM names the program.
export const launch = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });

// Opens a page whose faults are collected: requests to other hosts, failed requests, console errors and
// violations of the content security policy.
export async function openPage(browser, base) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const faults = [];
  const { host } = new URL(base);
  const check = (url) => {
    if (!['data:', 'blob:'].includes(new URL(url).protocol) && new URL(url).host !== host) {
      faults.push(`request to ${url}`);
    }
  };
  context.on('request', (request) => check(request.url()));
  context.on('requestfailed', (request) => faults.push(`failed: ${request.url()} ${request.failure()?.errorText}`));
  context.on('response', (response) => {
    if (response.status() >= 400) faults.push(`HTTP ${response.status()} ${response.url()}`);
  });
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on('websocket', (socket) => check(socket.url()));
  page.on('pageerror', (error) => faults.push(`thrown: ${error.name} ${error.message} ${error.stack}`));
  await page.exposeFunction('reportViolation', (text) => faults.push(`content security policy: ${text}`));
  await page.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', (event) =>
      window.reportViolation(`${event.violatedDirective} ${event.blockedURI}`),
    ),
  );
  return { page, faults };
}
