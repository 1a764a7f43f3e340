// The rules of `npm run check-arrows` for imports between packages and between folders, types included. Tests and test
// support are not read. docs/architecture.md explains the levels.
// dependency-cruiser reads types by TypeScript up to 6, so this folder installs an older TypeScript than the repository.

/** The packages from the lowest level. A package imports only from lower levels. */
const PACKAGE_LEVELS = [
  'libs/(base|kube-types|csi-proto)',
  'libs/(telemetry|http1|waits)',
  'libs/(kube-client|workqueue|csi|csi-translation)',
  'libs/(informer|leader-election|events)',
  'libs/(controller)',
  'libs/(sidecar)',
  'apps/(attacher|resizer|provisioner|snapshotter|livenessprobe)',
  'apps/(sidecars)',
  'desk/(emulator|volume-controllers)',
  'desk/(disturb)',
  'desk/(kubectl-csi)',
  'desk/(devcluster)',
  'desk/(driver-test)',
]

/** The folders of testing/e2e from the lowest level. */
const E2E_LEVELS = [
  'testing/e2e/(harness)',
  'testing/e2e/(rows)',
  'testing/e2e/(model)',
  'testing/e2e/(tests|faults|histories|parity|public-drivers)',
]

/** Returns a rule for each level: it imports from no other folder of its level, and from no higher level. */
function upward(name, levels) {
  return levels.map((level, at) => ({
    name: `${name}-level-${at}`,
    severity: 'error',
    from: { path: `^${level}/` },
    to: { path: `^(?:${levels.slice(at).join('|')})/`, pathNot: `^${level.replace(/\(.*\)/, '$1')}/` },
  }))
}

export default {
  forbidden: [
    ...upward('package', PACKAGE_LEVELS),
    { name: 'shipped', severity: 'error', from: { path: '^(apps|libs)/' }, to: { path: '^(desk|testing)/' } },
    { name: 'desk', severity: 'error', from: { path: '^desk/' }, to: { path: '^testing/' } },
    ...upward('e2e', E2E_LEVELS),
    { name: 'circle-of-folders', severity: 'error', scope: 'folder', from: {}, to: { circular: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '\\.test\\.ts$|/testing/|/gen/|^(apps|desk)/[^/]+/test/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.mjs', '.js'],
    },
  },
}
