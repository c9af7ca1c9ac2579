import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { Kind, parse } from 'graphql';
import { config, endpoint, socketEndpoint } from './config.js';

// A subscription opens a WebSocket of its own, with the tab's headers for connectionParams.
const send = createGraphiQLFetcher({
  url: endpoint.href,
  subscriptionUrl: socketEndpoint.href,
  enableIncrementalDelivery: false,
});

export function fetcher(params, options) {
  if (params.operationName === 'IntrospectionQuery') {
    // The first time there is no header editor yet, and so no token.
    return send(params, { ...options, headers: options?.headers ?? config.headers });
  }
  return send(...upToDate(params, options));
}

// GraphiQL reads a document some time after a change: right after a change of tabs, the document and the
// operation's name that it passes are the last tab's.
function upToDate(params, options) {
  let documentAST;
  try {
    documentAST = parse(params.query);
  } catch {
    return [params, options]; // the server tells what is wrong
  }
  const names = documentAST.definitions
    .filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
    .map((operation) => operation.name?.value);
  const operationName = names.length === 1 ? names[0] : params.operationName;
  return [{ ...params, operationName }, { ...options, documentAST }];
}
