// The notices of what is in the bundle, which its packages' licences ask for.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

// Packages without a licence file of their own, and those of the same authors and licence.
const sameAs = {
  '@graphiql/plugin-doc-explorer': 'graphiql',
  '@graphiql/plugin-history': 'graphiql',
  'react-compiler-runtime': 'react',
  'react-remove-scroll-bar': 'react-remove-scroll',
};

// Fonts inside the style sheet of graphiql, beside Fira Code.
const fonts = `Roboto 2.137 (font)
Copyright 2011 Google Inc. All Rights Reserved.
Apache License 2.0, whose text stands under react-aria: https://www.apache.org/licenses/LICENSE-2.0

Codicons (font)
Copyright (c) Microsoft Corporation
Creative Commons Attribution 4.0 International: https://creativecommons.org/licenses/by/4.0/
`;

const rule = `\n${'='.repeat(80)}\n\n`;

// Returns the text of licenses.txt. A package without a licence fails the build.
export async function licenses(root, metafile) {
  const firaCode = await readFile(join(root, 'licenses/fira-code.txt'), 'utf8');
  const sections = await Promise.all(bundled(metafile).map((dir) => section(root, dir)));
  return new TextEncoder().encode(
    ['What the playground is made of.\n', fonts, `Fira Code (font)\n\n${firaCode}`, ...sections].join(rule),
  );
}

// The directories of the packages of which something is in an output, each once.
function bundled(metafile) {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs));
  const dirs = inputs.map((input) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(input)?.[0]);
  return [...new Set(dirs.filter(Boolean))].sort();
}

async function section(root, dir) {
  const { name, version, license } = JSON.parse(await readFile(join(root, dir, 'package.json'), 'utf8'));
  const from = sameAs[name] ? join('node_modules', sameAs[name]) : dir;
  const files = (await readdir(join(root, from)))
    .filter((file) => /^(licen[cs]e|notice|third-?party-?notices)/i.test(file))
    .sort();
  if (files.length === 0) {
    throw new Error(`${name} has no licence file: add it to sameAs in licenses.mjs`);
  }
  const texts = await Promise.all(files.map((file) => readFile(join(root, from, file), 'utf8')));
  const tidy = texts.map((text) => text.replaceAll('\r\n', '\n').trim() + '\n');
  return [`${name} ${version} (${license})\n`, ...tidy].join('\n');
}
