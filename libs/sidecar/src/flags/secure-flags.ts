import type { Flag } from './go-flags.ts'

/** The flags for the security of the HTTP endpoint. If the API server has such a flag, too, its name is the same. */
export const SECURE_FLAGS = [
  {
    name: 'authorization-always-allow-paths',
    type: 'string',
    default: '/healthz/leader-election,/livez,/readyz',
    help:
      'Comma-separated paths of the HTTP endpoint that every client may read, so that a probe never depends on the API ' +
      'server. A path that ends with /* covers all below it.',
    chart: { key: 'authorization.alwaysAllowPaths', testValue: ['/livez', '/a/*'], testArgument: '/livez,/a/*' },
  },
  {
    name: 'authorize-metrics',
    type: 'bool',
    default: false,
    help:
      'Answer requests to the HTTP endpoint only if the API server knows the bearer token (TokenReview) and allows its ' +
      'user to get the path (SubjectAccessReview). A client certificate of --client-ca-file replaces the token.',
    chart: { key: 'authorization.enabled', testValue: true, template: 'handwritten' },
  },
  {
    name: 'client-ca-file',
    type: 'string',
    default: '',
    help:
      'Path of a bundle of certificate authorities, read again when it changes. A client with a certificate from one of ' +
      'them is known by its common name and organizations. Without --authorize-metrics such a certificate is required ' +
      'and sufficient.',
    chart: {
      key: 'tls.clientCA.key',
      testValue: 'clients.crt',
      testArgument: '/etc/csi-sidecars-client-ca/clients.crt',
      template: 'handwritten',
    },
  },
  {
    name: 'tls-cert-file',
    type: 'string',
    default: '',
    help:
      'Path of the certificate of the HTTP endpoint, with its chain. With --tls-private-key-file: serve HTTPS. Both are ' +
      'read again when they change.',
    chart: {
      key: 'tls.certKey',
      testValue: 'server.crt',
      testArgument: '/etc/csi-sidecars-tls/server.crt',
      template: 'handwritten',
    },
  },
  {
    name: 'tls-cipher-suites',
    type: 'string',
    default: '',
    help:
      "Comma-separated cipher suites for TLS 1.2, by OpenSSL's names (example: `ECDHE-ECDSA-AES128-GCM-SHA256`). " +
      'Those of TLS 1.3 are always offered.',
    chart: {
      key: 'tls.cipherSuites',
      testValue: ['ECDHE-ECDSA-AES128-GCM-SHA256', 'AES128-SHA'],
      testArgument: 'ECDHE-ECDSA-AES128-GCM-SHA256,AES128-SHA',
    },
  },
  {
    name: 'tls-min-version',
    type: 'string',
    default: '',
    help: 'Oldest version of TLS: VersionTLS12 or VersionTLS13. Empty: VersionTLS12.',
    chart: { key: 'tls.minVersion', testValue: 'VersionTLS13' },
  },
  {
    name: 'tls-private-key-file',
    type: 'string',
    default: '',
    help: 'Path of the private key of --tls-cert-file.',
    chart: {
      key: 'tls.privateKeyKey',
      testValue: 'server.key',
      testArgument: '/etc/csi-sidecars-tls/server.key',
      template: 'handwritten',
    },
  },
  {
    name: 'tls-self-signed',
    type: 'bool',
    default: false,
    help:
      'Serve HTTPS with a certificate that this process creates, instead of --tls-cert-file. Clients cannot verify ' +
      'it.',
    chart: { key: 'tls.enabled', testValue: true, template: 'handwritten' },
  },
] as const satisfies readonly Flag[]
