import type { Command } from './commands.ts'

/** The commands in documents that the file `by` runs. A test checks that the file contains the text `sign`. */
export interface RunBy {
  readonly lines: RegExp
  readonly by: string
  readonly sign: string
}

/** Commands in documents that no test of this project can run, with the reason. */
export interface NotRun {
  readonly lines: RegExp
  readonly why: string
}

const WORKFLOW = '.github/workflows/e2e.yml'
const CHECK = '.github/workflows/check.yml'
const LINES_OF_DOCUMENTS = 'testing/e2e/tests/ground/documents.ts'

/**
 * The files that run the commands of documents, or the reasons why no file runs them. Of several patterns that match
 * `path: line`, the first one counts. A file may run a command with other options.
 */
export const COMMAND_RUNS: readonly (RunBy | NotRun)[] = [
  // These commands need a cluster.
  ...['set image', 'rollout status', 'rollout undo'].map((verb) => ({
    // regex-bounded: `verb` is one of three texts
    lines: new RegExp(`^README\\.md: kubectl --namespace storage ${verb}`),
    by: 'testing/e2e/tests/chart/documents.ts',
    sign: `kubectl --namespace storage ${verb}`,
  })),
  {
    lines: /^(README|charts\/csi-sidecars\/README|docs\/drivers)\.md: helm upgrade --install \S+ oci:.*driver\.yaml/,
    by: 'testing/e2e/tests/chart/documents.ts',
    sign: 'helm upgrade --install',
  },
  { lines: /^README\.md: helm upgrade/, by: 'testing/e2e/tests/chart/documents.ts', sign: 'helm upgrade example' },
  { lines: /: helm test /, by: 'testing/e2e/tests/chart/documents.ts', sign: "lineOf('helm test')" },
  { lines: /^README\.md: helm rollback/, by: 'testing/e2e/tests/chart/documents.ts', sign: "lineOf('helm rollback')" },
  {
    lines: /: helm uninstall/,
    by: 'testing/e2e/tests/chart/documents.ts',
    sign: 'helm uninstall example --namespace storage',
  },
  { lines: /: helm upgrade .*separate\.yaml/, by: 'charts/tests/helm.ts', sign: "'separate'" },
  {
    lines: /^docs\/migration\.md: (kubectl|helm)/,
    by: 'testing/e2e/tests/chart/documents.ts',
    sign: 'docs/migration.md',
  },
  {
    lines: /^docs\/operations\.md: kubectl csi/,
    by: 'testing/e2e/tests/explain/cluster.ts',
    sign: 'docs/operations.md',
  },
  {
    lines: /^docs\/operations\.md: kubectl (-n \S+ logs|-n \S+ port-forward|get --raw)/,
    why: 'it needs a node with a kubelet, which keeps logs and leads to the ports of pods',
  },
  { lines: /^docs\/operations\.md: kubectl/, by: 'testing/e2e/tests/chart/documents.ts', sign: 'docs/operations.md' },
  { lines: /kubectl-csi\.cjs stuck$/, by: 'testing/e2e/tests/explain/cluster.ts', sign: 'desk/kubectl-csi/README.md' },
  { lines: /: (docker|kind|buildah) /, why: 'it needs Docker, Buildah or kind; a test builds the Dockerfile' },
  { lines: /^docs\/releases\.md: (helm pull|sha256sum)/, why: 'it needs a release' },
  { lines: /^docs\/releases\.md: (rm|BUILD_NODE)/, by: CHECK, sign: 'rm -rf node_modules/node-linux-*' },
  { lines: /: (cosign|gh) /, why: 'it needs a release, and the services that signed it' },
  { lines: /: npx --yes https:/, by: LINES_OF_DOCUMENTS, sign: "tester, '--help'" },
  { lines: /: npm pack \.cache\/npm-package/, by: LINES_OF_DOCUMENTS, sign: "'pack', folder" },
  // These are commands of csi-devcluster and csi-driver-test.
  { lines: /: npm start -- --exit/, by: LINES_OF_DOCUMENTS, sign: "'--exit'" },
  {
    lines: /: npm (start|run driver-test) -- --driver/,
    by: 'testing/e2e/tests/ground/driver-test.ts',
    sign: '--driver=unix://',
  },
  { lines: /: npm start -- --attacher/, by: 'testing/e2e/tests/ground/devcluster.ts', sign: 'sidecarArgs' },
  { lines: /: npm start -- --kubeconfig/, by: 'testing/e2e/tests/ground/devcluster.ts', sign: '--kubeconfig=' },
  // These commands need no cluster and no network.
  ...[
    'npm exec -- node images/tools/main.ts programs',
    'npm exec -- node images/tools/main.ts npm',
    'cd libs/workqueue && npm test -- lanes',
    'npx jest libs/workqueue/src/delays.test.ts',
    'npm run generate && npm exec -- node apps/attacher/src/main.ts --help',
    'npm start -- --help',
    'npm start -- --pause 2',
    'npm exec -- node desk/devcluster/src/main.ts',
    'npm run e2e -- --list',
  ].map((line) => ({ lines: new RegExp(`: ${line}$`), by: LINES_OF_DOCUMENTS, sign: line })),
  {
    lines: /main\.ts executables/,
    by: 'images/tools/executables.test.ts',
    sign: 'makeExecutables',
  },
  // These commands are for contributors.
  { lines: /: npm (ci|install|start|test)$/, by: 'tools/walk.mjs', sign: 'README.md' },
  { lines: /^README\.md: npm ci && npm (test|start)$/, by: 'tools/walk.mjs', sign: 'README.md' },
  { lines: /: (npm ci && )?npm run build$/, by: CHECK, sign: 'npm run build' },
  { lines: /: npm run (lint|check-unused|check-lockfile)$/, by: '.ci/run', sign: 'check-unused' },
  { lines: /: npm run (all|build && npm run e2e|e2e)$/, by: '.ci/run', sign: 'npm run --silent e2e' },
  { lines: /: npm run walk/, by: WORKFLOW, sign: 'tools/walk.mjs' },
  { lines: /: npm run check-packages/, by: CHECK, sign: 'npm run check-packages' },
  { lines: /: cd charts && npm run check-manifests/, by: WORKFLOW, sign: 'check-manifests' },
  { lines: /: npm run storm/, by: WORKFLOW, sign: 'npm run storm' },
  { lines: /: npm run soak/, by: WORKFLOW, sign: 'npm run soak' },
  { lines: /: npm run histories/, by: WORKFLOW, sign: 'npm run histories' },
  { lines: /: npm run parity/, by: WORKFLOW, sign: 'npm run parity' },
  { lines: /: npm run faults/, by: WORKFLOW, sign: 'npm run faults' },
  { lines: /: (FUZZ_\S+ )*npm run fuzz/, by: WORKFLOW, sign: 'npm run fuzz' },
  { lines: /: npm run public-drivers/, by: WORKFLOW, sign: 'npm run public-drivers' },
  { lines: /: npm run node/, by: WORKFLOW, sign: 'node testing/node/main.ts' },
  { lines: /: (E2E_\S+ )?npm run e2e/, by: WORKFLOW, sign: 'npm run e2e' },
  { lines: /: npm run generate$/, by: LINES_OF_DOCUMENTS, sign: 'npm run generate' },
  {
    lines: /: npm exec -- node tools\/docs\/main\.ts$/,
    by: 'tools/docs/tables.test.ts',
    sign: 'npm exec -- node tools/docs/main.ts',
  },
  { lines: /: npm run emulator/, by: 'testing/e2e/tests/ground/emulator.ts', sign: '--kubeconfig-out' },
  { lines: /: npm run size/, why: 'it prints a table for reviews' },
  { lines: /: npm run (watch|changeset)$/, why: 'it waits for a person' },
  {
    lines: /: npm install --global$/,
    why: 'it changes the machine; .github/release/packages.sh installs the archives',
  },
  { lines: /pictures\.ts$/, why: 'it writes pictures of the repository, and needs chromium' },
  {
    lines: /: cd apps\/attacher && MODEL_RUNS/,
    why: 'it runs for minutes; `npm test` runs the same model with fewer seeds',
  },
  {
    lines: /npm run (bench|mutate)| testing\/bench\/[\w-]+\.ts/,
    why: 'it measures for minutes, on a machine that does nothing else',
  },
]

/** Returns the entry of `COMMAND_RUNS` for a command. */
export function runOf({ path, line }: Command): RunBy | NotRun | undefined {
  return COMMAND_RUNS.find(({ lines }) => lines.test(`${path}: ${line}`))
}
